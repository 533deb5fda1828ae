//! The cluster addresses of Services: which fields belong together, and which families an address may be of.
//!
//! A cluster has one family here, IPv4. A Service for two families is refused as by a cluster with one.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::services::{check_ip, kind, same};
use super::values::{Errors, entries, list, one_of_if_set, put, text};
use crate::field::{FieldError, FieldPath};

const SINGLE: &str = "SingleStack";
const NOT_SINGLE: &str = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";

/// What a Service asks for, with what it leaves to the server.
pub(super) struct Families {
    policy: String,
    families: Vec<Value>,
    cluster_ips: Vec<Value>,
}

impl Families {
    pub(super) fn write_to(self, spec: &mut Map<String, Value>) {
        spec.insert("ipFamilyPolicy".into(), self.policy.into());
        spec.insert("ipFamilies".into(), self.families.into());
        let ips = if self.cluster_ips.is_empty() { Value::Null } else { self.cluster_ips.into() };
        put(spec, "clusterIPs", ips);
    }
}

/// `clusterIP` is the first of `clusterIPs`; a client may give just the one.
pub(super) fn match_cluster_ips(spec: &mut Map<String, Value>, old: Option<&Value>) {
    let ip = spec.get("clusterIP").cloned().unwrap_or_default();
    let fresh = !spec.contains_key("clusterIPs");
    let changed_alone = old.is_some_and(|old| old["clusterIP"] != ip && same(spec, old, "clusterIPs"));
    if !text(&ip).is_empty() && (fresh || changed_alone) {
        spec.insert("clusterIPs".into(), json!([ip]));
    }
}

/// The families of a Service; `None` if there is nothing to set, and otherwise why they cannot be had.
pub(super) fn families(spec: &Map<String, Value>, old: Option<&Value>) -> Result<Option<Families>, Errors> {
    if kind(spec) == "ExternalName" || old.is_some_and(|old| stays_dual_if_possible(spec, old)) {
        return Ok(None);
    }
    let field = |name: &str| spec.get(name).unwrap_or(&Value::Null);
    let selects = entries(field("selector")).next().is_some();
    let bare = *field("clusterIP") == "None" && !selects;
    let policy = [field("ipFamilyPolicy"), old.map_or(&Value::Null, |old| &old["ipFamilyPolicy"])];
    let policy = match policy.into_iter().find(|policy| policy.is_string()) {
        Some(policy) => text(policy).to_owned(),
        None if bare => "RequireDualStack".to_owned(),
        None => SINGLE.to_owned(),
    };
    let mut wanted = Families {
        policy,
        families: list(field("ipFamilies")).to_vec(),
        cluster_ips: list(field("clusterIPs")).to_vec(),
    };
    let mut errors = Errors::new();
    let path = FieldPath::of("spec");
    check_cluster_ips(&mut errors, &path, &Value::Object(spec.clone()));
    if errors.is_empty() {
        wanted.follow_policy(&mut errors, &path, old);
    }
    if errors.is_empty() {
        wanted.add_families(&mut errors, &path, bare);
    }
    if errors.is_empty() { Ok(Some(wanted)) } else { Err(errors) }
}

/// Whether a Service that takes two families where there are two is left as it is.
fn stays_dual_if_possible(spec: &Map<String, Value>, old: &Value) -> bool {
    let prefers = |policy: Option<&Value>| policy.is_some_and(|policy| *policy == "PreferDualStack");
    prefers(spec.get("ipFamilyPolicy"))
        && (old["ipFamilyPolicy"].is_null() || prefers(old.get("ipFamilyPolicy")))
        && ["type", "clusterIPs", "ipFamilies"].into_iter().all(|field| same(spec, old, field))
}

impl Families {
    /// The second address and family go with the policy, and only with it.
    fn follow_policy(&mut self, errors: &mut Errors, path: &FieldPath, old: Option<&Value>) {
        let path = path.child("ipFamilyPolicy");
        let policy = self.policy.clone();
        let mut refuse = |detail: String| {
            errors.push(FieldError::invalid(&path, policy.as_str(), detail));
        };
        let parts = [
            (&mut self.cluster_ips, "clusterIPs", "cluster IP", "cluster IPs"),
            (&mut self.families, "ipFamilies", "IP family", "IP families"),
        ];
        for (values, field, one, several) in parts {
            let before = old.map_or(&[][..], |old| list(&old[field]));
            let is_single = self.policy == SINGLE;
            if is_single && old.is_some() && values == before {
                values.truncate(1);
            }
            if !is_single && !values.is_empty() && values.len() < before.len() {
                refuse(format!("must be 'SingleStack' to release the secondary {one}"));
            }
            if is_single && values.len() == 2 {
                refuse(format!("{NOT_SINGLE} {several} are specified"));
            }
        }
    }

    fn add_families(&mut self, errors: &mut Errors, path: &FieldPath, bare: bool) {
        let ips = &self.cluster_ips;
        for (index, ip) in ips.iter().enumerate().take_while(|(_, ip)| **ip != "None") {
            if index < self.families.len() {
                continue;
            }
            match is_v6(ip) {
                false => self.families.push("IPv4".into()),
                true => {
                    let path = path.child("clusterIPs").index(index);
                    let detail = "IPv6 is not configured on this cluster";
                    errors.push(FieldError::invalid(&path, Value::from(ips.clone()), detail));
                }
            }
        }
        if !errors.is_empty() {
            return;
        }
        if bare {
            // Whoever puts addresses there may put in those of both families, whatever the cluster has.
            if self.families.is_empty() {
                self.families.push("IPv4".into());
            }
            if self.families.len() == 1 && self.policy != SINGLE {
                let other = if self.families[0] == "IPv4" { "IPv6" } else { "IPv4" };
                self.families.push(other.into());
            }
            return;
        }
        if self.policy == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            errors.push(FieldError::invalid(&path.child("ipFamilyPolicy"), self.policy.as_str(), detail));
        }
        for (index, family) in self.families.iter().enumerate().filter(|(_, family)| **family != "IPv4") {
            let path = path.child("ipFamilies").index(index);
            errors.push(FieldError::invalid(&path, family.clone(), "not configured on this cluster"));
        }
        if self.families.is_empty() {
            self.families.push("IPv4".into());
        }
    }
}

fn is_v6(ip: &Value) -> bool {
    text(ip).parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6())
}

pub(super) fn is_headless(spec: &Value) -> bool {
    spec["clusterIPs"][0] == "None" || spec["clusterIP"] == "None"
}

/// The addresses, families and policy of one Service must fit each other.
pub(super) fn check_cluster_ips(errors: &mut Errors, spec_path: &FieldPath, spec: &Value) {
    if spec["type"] == "ExternalName" {
        return;
    }
    let (path, ips) = (spec_path.child("clusterIPs"), list(&spec["clusterIPs"]));
    let shown = || Value::from(ips.to_vec());
    match (text(&spec["clusterIP"]), ips.first()) {
        ("", Some(_)) => {
            errors.push(FieldError::invalid(
                &path,
                shown(),
                "must be empty when `clusterIP` is not specified",
            ));
        }
        ("", None) => {}
        (_, None) => errors.push(FieldError::required(&path, "")),
        (ip, Some(first)) if text(first) != ip => {
            errors.push(FieldError::invalid(&path, shown(), "first value must match `clusterIP`"));
        }
        _ => {}
    }
    check_families(errors, spec_path, spec);
    let before = errors.len();
    if ips.first().is_some_and(|ip| *ip == "None") {
        if ips.len() > 1 {
            errors.push(FieldError::invalid(&path, shown(), "'None' must be the first and only value"));
        }
    } else {
        ips.iter().enumerate().for_each(|(index, ip)| check_ip(errors, &path.index(index), ip));
    }
    let well_formed = errors.len() == before;
    if ips.len() > 2 {
        errors.push(FieldError::invalid(&path, shown(), "may only hold up to 2 values"));
    }
    if well_formed {
        check_families_of_ips(errors, &path, spec);
    }
}

fn check_families(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let mut seen = BTreeSet::new();
    for (index, family) in list(&spec["ipFamilies"]).iter().enumerate() {
        let path = path.child("ipFamilies").index(index);
        if !matches!(text(family), "IPv4" | "IPv6") {
            errors.push(FieldError::not_supported(&path, family.clone(), &["IPv4", "IPv6"]));
        }
        if !seen.insert(text(family)) {
            errors.push(FieldError::duplicate(&path, family.clone()));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", SINGLE];
    one_of_if_set(errors, &path.child("ipFamilyPolicy"), &spec["ipFamilyPolicy"], &policies);
}

fn check_families_of_ips(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let (ips, families) = (list(&spec["clusterIPs"]), list(&spec["ipFamilies"]));
    let of_v6 = ips.iter().filter(|ip| is_v6(ip)).count();
    if ips.len() > 1 && (of_v6 == 0 || of_v6 == ips.len()) {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(path, Value::from(ips.to_vec()), detail));
    }
    if is_headless(spec) {
        return;
    }
    for (index, (ip, family)) in ips.iter().zip(families).enumerate() {
        let expected = match (text(family), is_v6(ip)) {
            ("IPv4", true) => "IPv4",
            ("IPv6", false) => "IPv6",
            _ => continue,
        };
        let detail = format!("expected an {expected} value as indicated by `ipFamilies[{index}]`");
        errors.push(FieldError::invalid(&path.index(index), ip.clone(), detail));
    }
}

/// An address that was given is kept, unless the service has none of its own.
pub(super) fn check_ips_stay(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) {
    if spec["type"] == "ExternalName"
        || old["type"] == "ExternalName"
        || is_headless(spec) && is_headless(old)
    {
        return;
    }
    let (ips, before) = (list(&spec["clusterIPs"]), list(&old["clusterIPs"]));
    let mut refuse = |index: usize, detail: &str| {
        let path = path.child("clusterIPs").index(index);
        errors.push(FieldError::invalid(&path, Value::from(ips.to_vec()), detail));
    };
    if ips.len() < before.len() && ips.is_empty() {
        refuse(0, "primary clusterIP can not be unset");
    }
    for (index, (_, _)) in ips.iter().zip(before).enumerate().filter(|(_, (new, old))| new != old) {
        refuse(index, "may not change once set");
    }
}
