//! The built-in resources: what each is called and which subresources it has.

/// One built-in resource.
pub(super) struct Resource {
    /// The name of its type in the data file: `apps.v1.Deployment`.
    pub(super) type_name: &'static str,
    /// Empty for the core group.
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) short_names: &'static [&'static str],
    pub(super) categories: &'static [&'static str],
    pub(super) namespaced: bool,
    pub(super) has_status: bool,
    pub(super) has_scale: bool,
    pub(super) has_generation: bool,
    pub(super) selectable: &'static [&'static str],
}

impl Resource {
    /// A resource in namespaces with none of the special things.
    const fn new(type_name: &'static str, group: &'static str, plural: &'static str) -> Self {
        Resource {
            type_name,
            group,
            plural,
            short_names: &[],
            categories: &[],
            namespaced: true,
            has_status: false,
            has_scale: false,
            has_generation: false,
            selectable: &[],
        }
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn in_categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn status(mut self) -> Self {
        self.has_status = true;
        self
    }

    const fn scale(mut self) -> Self {
        self.has_scale = true;
        self
    }

    const fn generation(mut self) -> Self {
        self.has_generation = true;
        self
    }

    const fn select(mut self, fields: &'static [&'static str]) -> Self {
        self.selectable = fields;
        self
    }

    /// `v1`
    pub(super) fn version(&self) -> &'static str {
        self.type_name.split('.').nth(1).unwrap_or("")
    }

    /// `Deployment`
    pub(super) fn kind(&self) -> &'static str {
        self.type_name.split('.').nth(2).unwrap_or("")
    }
}

const ALL: &[&str] = &["all"];
const API_EXTENSIONS: &[&str] = &["api-extensions"];
const ADMISSION: &str = "admissionregistration.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];
const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const NEW_EVENT_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

/// What a service account is asked for to get a token: an object that only its subresource knows.
pub(super) const TOKEN_REQUEST: Resource =
    Resource::new("authentication.v1.TokenRequest", AUTHENTICATION, "tokenrequests");

/// All built-in resources that are served.
pub(super) const RESOURCES: &[Resource] = &[
    Resource::new("core.v1.Binding", "", "bindings"),
    Resource::new("core.v1.ConfigMap", "", "configmaps").short(&["cm"]),
    Resource::new("core.v1.Endpoints", "", "endpoints").short(&["ep"]),
    Resource::new("core.v1.Event", "", "events").short(&["ev"]).select(EVENT_FIELDS),
    Resource::new("core.v1.LimitRange", "", "limitranges").short(&["limits"]),
    Resource::new("core.v1.Namespace", "", "namespaces")
        .short(&["ns"])
        .cluster()
        .status()
        .select(&["status.phase"]),
    Resource::new("core.v1.Node", "", "nodes")
        .short(&["no"])
        .cluster()
        .status()
        .select(&["spec.unschedulable"]),
    Resource::new("core.v1.PersistentVolume", "", "persistentvolumes").short(&["pv"]).cluster().status(),
    Resource::new("core.v1.PersistentVolumeClaim", "", "persistentvolumeclaims").short(&["pvc"]).status(),
    Resource::new("core.v1.Pod", "", "pods")
        .short(&["po"])
        .in_categories(ALL)
        .status()
        .generation()
        .select(POD_FIELDS),
    Resource::new("core.v1.PodTemplate", "", "podtemplates").generation(),
    Resource::new("core.v1.ReplicationController", "", "replicationcontrollers")
        .short(&["rc"])
        .in_categories(ALL)
        .status()
        .scale()
        .generation()
        .select(&["status.replicas"]),
    Resource::new("core.v1.ResourceQuota", "", "resourcequotas").short(&["quota"]).status(),
    Resource::new("core.v1.Secret", "", "secrets").select(&["type"]),
    Resource::new("core.v1.Service", "", "services")
        .short(&["svc"])
        .in_categories(ALL)
        .status()
        .select(&["spec.clusterIP", "spec.type"]),
    Resource::new("core.v1.ServiceAccount", "", "serviceaccounts").short(&["sa"]),
    Resource::new("apps.v1.ControllerRevision", "apps", "controllerrevisions"),
    Resource::new("apps.v1.DaemonSet", "apps", "daemonsets")
        .short(&["ds"])
        .in_categories(ALL)
        .status()
        .generation(),
    Resource::new("apps.v1.Deployment", "apps", "deployments")
        .short(&["deploy"])
        .in_categories(ALL)
        .status()
        .scale()
        .generation(),
    Resource::new("apps.v1.ReplicaSet", "apps", "replicasets")
        .short(&["rs"])
        .in_categories(ALL)
        .status()
        .scale()
        .generation()
        .select(&["status.replicas"]),
    Resource::new("apps.v1.StatefulSet", "apps", "statefulsets")
        .short(&["sts"])
        .in_categories(ALL)
        .status()
        .scale()
        .generation(),
    Resource::new("authentication.v1.SelfSubjectReview", AUTHENTICATION, "selfsubjectreviews").cluster(),
    Resource::new("authentication.v1.TokenReview", AUTHENTICATION, "tokenreviews").cluster(),
    Resource::new("authorization.v1.LocalSubjectAccessReview", AUTHORIZATION, "localsubjectaccessreviews"),
    Resource::new("authorization.v1.SelfSubjectAccessReview", AUTHORIZATION, "selfsubjectaccessreviews")
        .cluster(),
    Resource::new("authorization.v1.SelfSubjectRulesReview", AUTHORIZATION, "selfsubjectrulesreviews")
        .cluster(),
    Resource::new("authorization.v1.SubjectAccessReview", AUTHORIZATION, "subjectaccessreviews").cluster(),
    Resource::new("batch.v1.CronJob", "batch", "cronjobs")
        .short(&["cj"])
        .in_categories(ALL)
        .status()
        .generation(),
    Resource::new("batch.v1.Job", "batch", "jobs")
        .in_categories(ALL)
        .status()
        .generation()
        .select(&["status.successful"]),
    Resource::new("autoscaling.v2.HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers")
        .short(&["hpa"])
        .in_categories(ALL)
        .status(),
    Resource::new("policy.v1.PodDisruptionBudget", "policy", "poddisruptionbudgets")
        .short(&["pdb"])
        .status()
        .generation(),
    Resource::new("networking.v1.Ingress", NETWORKING, "ingresses").short(&["ing"]).status().generation(),
    Resource::new("networking.v1.IngressClass", NETWORKING, "ingressclasses").cluster().generation(),
    Resource::new("networking.v1.NetworkPolicy", NETWORKING, "networkpolicies")
        .short(&["netpol"])
        .generation(),
    Resource::new("coordination.v1.Lease", "coordination.k8s.io", "leases"),
    Resource::new("discovery.v1.EndpointSlice", "discovery.k8s.io", "endpointslices").generation(),
    Resource::new("events.v1.Event", "events.k8s.io", "events").short(&["ev"]).select(NEW_EVENT_FIELDS),
    Resource::new("rbac.v1.ClusterRole", RBAC, "clusterroles").cluster(),
    Resource::new("rbac.v1.ClusterRoleBinding", RBAC, "clusterrolebindings").cluster(),
    Resource::new("rbac.v1.Role", RBAC, "roles"),
    Resource::new("rbac.v1.RoleBinding", RBAC, "rolebindings"),
    Resource::new("scheduling.v1.PriorityClass", "scheduling.k8s.io", "priorityclasses")
        .short(&["pc"])
        .cluster()
        .generation(),
    Resource::new("storage.v1.StorageClass", "storage.k8s.io", "storageclasses").short(&["sc"]).cluster(),
    Resource::new(
        "apiextensions.v1.CustomResourceDefinition",
        "apiextensions.k8s.io",
        "customresourcedefinitions",
    )
    .short(&["crd", "crds"])
    .in_categories(API_EXTENSIONS)
    .cluster()
    .status()
    .generation(),
    Resource::new(
        "admissionregistration.v1.MutatingWebhookConfiguration",
        ADMISSION,
        "mutatingwebhookconfigurations",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .generation(),
    Resource::new(
        "admissionregistration.v1.ValidatingWebhookConfiguration",
        ADMISSION,
        "validatingwebhookconfigurations",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .generation(),
    Resource::new(
        "admissionregistration.v1.ValidatingAdmissionPolicy",
        ADMISSION,
        "validatingadmissionpolicies",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .status()
    .generation(),
    Resource::new(
        "admissionregistration.v1.ValidatingAdmissionPolicyBinding",
        ADMISSION,
        "validatingadmissionpolicybindings",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .generation(),
];

/// What the feature gate `MutatingAdmissionPolicy` adds.
pub(super) const MUTATING_ADMISSION_POLICY: &[Resource] = &[
    Resource::new(
        "admissionregistration.v1beta1.MutatingAdmissionPolicy",
        ADMISSION,
        "mutatingadmissionpolicies",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .generation(),
    Resource::new(
        "admissionregistration.v1beta1.MutatingAdmissionPolicyBinding",
        ADMISSION,
        "mutatingadmissionpolicybindings",
    )
    .in_categories(API_EXTENSIONS)
    .cluster()
    .generation(),
];
