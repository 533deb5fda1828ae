//! Sharding of all controllers of a process: one ring for each.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass::model::ResourceId;
use windlass::{Controller, WatchDeclaration};
use windlass_shard::{Instance, RingSpec, SlotCount};

use crate::api::Api;
use crate::controller_context::ControllerContext;
use crate::enqueuer::Enqueuer;
use crate::informer::{Informers, Selection};
use crate::operations::metrics::Metrics;
use crate::subscription::{Subscribed, open};

use super::clock::Clock;
use super::missing::MissingParents;
use super::outputs::OutputInformers;
use super::parents::Parents;
use super::protocol::Protocol;
use super::registry::{KubernetesRegistry, Registries};
use super::settings::{ShardSettings, ShardSettingsError};
use super::shard::Shard;
use super::shard_support::selectable;

/// What the controllers of a sharded process have in common.
pub(crate) struct Fleet {
    settings: ShardSettings,
    count: SlotCount,
    registries: Arc<dyn Registries>,
    clock: Clock,
    /// The kinds of parents that are watched by slots.
    by_slots: BTreeSet<ResourceId>,
}

impl Fleet {
    /// # Errors
    /// When the settings cannot work.
    pub(crate) fn new(settings: ShardSettings, api: &Api) -> Result<Self, ShardSettingsError> {
        settings.check()?;
        let namespace = settings.namespace.as_deref().unwrap_or(api.default_namespace());
        let of_cluster =
            || Arc::new(KubernetesRegistry::new(api.clone(), namespace, settings.timing)) as Arc<_>;
        let registries = settings.registries.clone().unwrap_or_else(of_cluster);
        let count = SlotCount::new(settings.slots)?;
        Ok(Fleet { settings, count, registries, clock: Clock::since_boot(), by_slots: BTreeSet::new() })
    }

    /// Asks the API server which parents can be watched by slots. Without this, all instances watch all.
    pub(crate) async fn probe(&mut self, controllers: &[Controller], namespaces: &[String], api: &Api) {
        self.by_slots = selectable(controllers, namespaces, api).await;
    }

    /// Whether a watch comes and goes with slots. All others are open from the start.
    pub(crate) fn is_by_slots(&self, watch: &WatchDeclaration) -> bool {
        watch.is_of_outputs() || (watch.is_of_parents() && self.by_slots.contains(&watch.kind.resource))
    }

    /// One controller's part, which does nothing yet.
    pub(crate) fn shard(
        &self,
        controller: &Controller,
        informers: &Arc<Informers>,
        namespaces: &[String],
    ) -> Arc<Shard> {
        let ShardSettings { slots, key, timing, .. } = self.settings;
        let spec = RingSpec {
            times: Some(timing.into()),
            namespaces: namespaces.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect(),
            ..RingSpec::new(controller.name(), slots, key)
        };
        let instance = self.instance();
        let outputs = Arc::new(OutputInformers::new(informers, namespaces, self.count));
        let parents = controller.declaration().parent().resource.clone();
        let shard = Shard::new(spec, parents, instance, self.count, timing, self.clock.clone(), outputs);
        Arc::new(shard.knowing_own_alone(self.is_by_slots(&controller.declaration().all_watches()[0])))
    }

    /// The protocol's part, which has not registered yet.
    fn instance(&self) -> Instance {
        let timing = self.settings.timing;
        #[cfg_attr(not(feature = "model"), expect(unused_mut, reason = "rules are broken on purpose only"))]
        let mut instance = Instance::new(self.settings.id(), self.count, timing, self.clock.now());
        #[cfg(feature = "model")]
        if let Some(mutation) = self.settings.broken {
            tracing::warn!(rule = ?mutation, "this process breaks a rule of sharding on purpose");
            instance.break_rule(mutation);
        }
        instance
    }

    /// Follows the parents of a controller. It must come before whatever is notified of them.
    ///
    /// # Errors
    /// When a selector cannot be read; with the watch that it is of.
    pub(crate) fn parents<'a>(
        shard: &Arc<Shard>,
        controller: &'a Controller,
        informers: &Arc<Informers>,
        namespaces: &[String],
    ) -> Result<Arc<Parents>, (&'a WatchDeclaration, String)> {
        let declaration = controller.declaration();
        if shard.knows_own_alone() {
            return Ok(Arc::new(Parents::of_slots((informers, namespaces), shard, declaration)));
        }
        let declared = &declaration.all_watches()[0];
        let opened =
            Selection::all_of(declared, namespaces).map(|selection| open(informers, declared, selection));
        Ok(Arc::new(Parents::all(opened.collect::<Result<_, _>>()?, shard, declaration)))
    }

    /// Starts to take part in the protocol for one controller.
    pub(crate) fn join(
        &self,
        shard: Arc<Shard>,
        enqueuer: &Arc<Enqueuer>,
        (parents, subscribed): (Arc<Parents>, Vec<Subscribed>),
        metrics: &Metrics,
        (tasks, stopping): (&mut JoinSet<()>, watch::Receiver<bool>),
    ) {
        let outputs = Arc::clone(shard.outputs());
        outputs.start(enqueuer);
        parents.start(enqueuer);
        let context: Arc<ControllerContext> = Arc::clone(&enqueuer.context);
        let makes_missing = context.controller.declaration().creates_missing();
        let protocol = Protocol {
            registry: self.registries.of_ring(&shard.spec),
            missing: makes_missing.then(|| MissingParents::new(subscribed)),
            metrics: metrics.shard(context.controller.name()),
            leave: self.settings.leave,
            shard,
            context,
            parents,
            outputs,
        };
        tasks.spawn(protocol.run(stopping));
    }
}
