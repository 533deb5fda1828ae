//! The objects that an operator decides on, and the daemons that it calls.

use windlass::{Cx, Error, Kind, Select};

use crate::api::{Divider, Droplet};
use crate::droplets::Daemon;
use crate::tables::Inventory;

/// Which objects are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection<'a> {
    /// The namespace of dividers, bouncers and droplets.
    pub(crate) namespace: &'a str,
    /// The dividers of this VPC; of all VPCs if it is empty.
    pub(crate) dividers_of: Option<&'a str>,
    /// The bouncers of this VPC or network.
    pub(crate) bouncers_of: Option<Group<'a>>,
    /// These endpoints.
    pub(crate) endpoints: Endpoints<'a>,
    /// No other divider: a mistake of the original.
    pub(crate) only_divider: Option<&'a str>,
}

/// What bouncers belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Group<'a> {
    /// Any.
    All,
    /// A VPC.
    Vpc(&'a str),
    /// A network of a VPC.
    Net { vpc: &'a str, net: &'a str },
}

/// Which endpoints are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Endpoints<'a> {
    /// None.
    #[default]
    None,
    /// All of them, everywhere.
    All,
    /// Those of a network.
    OfNetwork { vpc: &'a str, net: &'a str },
    /// This one.
    One { namespace: &'a str, name: &'a str },
}

impl<'a> Selection<'a> {
    /// Nothing yet, of a namespace.
    pub(crate) fn of(namespace: &'a str) -> Self {
        Selection { namespace, ..Selection::default() }
    }

    /// Reads the objects, from the watch cache or from the API server.
    pub(crate) async fn read<P: Kind>(&self, cx: &Cx<P>, cached: bool) -> Result<Inventory, Error> {
        let mut inventory = Inventory::default();
        if let Some(vpc) = self.dividers_of {
            let select = Select::all().in_namespace(self.namespace);
            let select = if vpc.is_empty() { select } else { select.fields(&format!("spec.vpc={vpc}")) };
            inventory.dividers = list(cx, select, cached).await?;
            let is_left = |divider: &Divider| {
                self.only_divider.is_none_or(|only| divider.metadata.name.as_deref() == Some(only))
            };
            inventory.dividers.retain(is_left);
        }
        if let Some(group) = self.bouncers_of {
            let select = Select::all().in_namespace(self.namespace);
            let select = match group {
                Group::All => select,
                Group::Vpc(vpc) => select.fields(&format!("spec.vpc={vpc}")),
                Group::Net { vpc, net } => select.fields(&of_network(vpc, net)),
            };
            inventory.bouncers = list(cx, select, cached).await?;
        }
        match self.endpoints {
            Endpoints::None => {}
            Endpoints::All => inventory.endpoints = list(cx, Select::all().everywhere(), cached).await?,
            Endpoints::OfNetwork { vpc, net } => {
                let select = Select::all().everywhere().fields(&of_network(vpc, net));
                inventory.endpoints = list(cx, select, cached).await?;
            }
            Endpoints::One { namespace, name } => {
                // Its own parent; a cached read would show what is known already.
                inventory.endpoints = cx.get_in(namespace, name).await?.into_iter().collect();
            }
        }
        Ok(inventory)
    }
}

/// The field selector of whatever belongs to a network.
pub(crate) fn of_network(vpc: &str, net: &str) -> String {
    format!("spec.net={net},spec.vpc={vpc}")
}

pub(super) async fn list<P: Kind, K: Kind>(
    cx: &Cx<P>,
    select: Select,
    cached: bool,
) -> Result<Vec<K>, Error> {
    if cached { cx.list_cached(select).await } else { cx.list(select).await }
}

/// The daemon of a droplet; none if the droplet is gone or lost, and so needs no programming now.
pub(crate) async fn daemon_of<P: Kind>(
    cx: &Cx<P>,
    namespace: &str,
    droplet: &str,
) -> Result<Option<Daemon>, Error> {
    let cached: Option<Droplet> = cx.cached_in(namespace, droplet).await?;
    if let Some(known) = cached.filter(|droplet| !droplet.state().lost) {
        return Ok(Some(Daemon::from(&known)));
    }
    // What is lost in the cache may have come back. From then on it must be programmed: its tables are read once only.
    let current: Option<Droplet> = cx.get_in(namespace, droplet).await?;
    Ok(current.filter(|droplet| !droplet.state().lost).map(|droplet| Daemon::from(&droplet)))
}
