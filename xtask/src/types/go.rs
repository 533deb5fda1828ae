//! What the Go sources say about a field that OpenAPI does not: whether it distinguishes absent from zero.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What the data file calls values that Go passes on as they are.
const OPAQUE: &[&str] = &["any", "fields", "json", "raw-extension"];
/// The packages behind the names that API types import them by.
const IMPORTS: &[(&str, &str)] = &[
    ("v1", "core.v1"),
    ("corev1", "core.v1"),
    ("apiv1", "core.v1"),
    ("core", "core.v1"),
    ("metav1", "meta.v1"),
];

/// The Go modules of the API types, read package by package.
pub(super) struct GoTypes {
    packages: BTreeMap<String, Package>,
}

/// The structs of one package, its string constants and its enumerations.
#[derive(Default)]
struct Package {
    structs: BTreeMap<String, Vec<GoField>>,
    constants: BTreeMap<String, String>,
    /// The values of each type that has constants.
    values: BTreeMap<String, BTreeSet<String>>,
    /// Types that have no other values than their constants.
    enums: BTreeSet<String>,
    /// The packages of API types that it imports, by the names that it gives them.
    imports: BTreeMap<String, String>,
    /// Other names for types of other packages.
    aliases: Vec<Alias>,
}

/// `type Name = package.Target`
struct Alias {
    name: String,
    package: String,
    target: String,
}

/// One field of a Go struct.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GoField {
    /// The name in JSON; empty for an embedded struct.
    json: String,
    /// The Go type, as written.
    go_type: String,
    omit_empty: bool,
    omit_zero: bool,
    /// The JSON of a `+default` marker.
    default: Option<String>,
    /// The number of the field in the protobuf message.
    number: Option<u32>,
}

impl GoTypes {
    /// Reads the modules that lie beside the one that the OpenAPI file is in.
    pub(super) fn beside(swagger: &Path) -> Result<Self> {
        let mut packages = BTreeMap::new();
        for root in roots_beside(swagger)? {
            read_groups(&root, &mut packages)?;
        }
        resolve_aliases(&mut packages);
        Ok(GoTypes { packages })
    }

    /// The field of a type; `None` for types that are not Go structs in these modules.
    pub(super) fn field(&self, type_name: &str, json: &str) -> Result<Option<GoField>> {
        let (package, name) = type_name.rsplit_once('.').context("a type without a package")?;
        let Some(package) = self.packages.get(package) else { return Ok(None) };
        if json == "apiVersion" || json == "kind" {
            // TypeMeta is embedded from another package; in objects both are always written.
            return Ok(find(package, name, json));
        }
        let field = find(package, name, json);
        if field.is_none() {
            bail!("{type_name} has no field {json} in Go");
        }
        Ok(field)
    }

    /// The field that has a number in the protobuf message of a type.
    pub(super) fn field_by_number(&self, type_name: &str, number: u32) -> Option<&GoField> {
        let fields = self.structure(type_name)?;
        fields.iter().find(|field| field.number == Some(number))
    }

    /// The `apiVersion` of objects of a type; `None` for types that are only parts of objects.
    pub(super) fn api_version(&self, type_name: &str) -> Option<String> {
        self.structure(type_name)?.iter().find(|field| {
            field.is_inline() && matches!(field.go_type.as_str(), "TypeMeta" | "metav1.TypeMeta")
        })?;
        let package = self.packages.get(type_name.rsplit_once('.')?.0)?;
        let group = package.constants.get("GroupName")?.trim_matches('"');
        let version = type_name.split('.').nth(1)?;
        Some(if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") })
    }

    /// Whether a type is a struct in these modules.
    pub(super) fn has_struct(&self, type_name: &str) -> bool {
        self.structure(type_name).is_some()
    }

    fn structure(&self, type_name: &str) -> Option<&Vec<GoField>> {
        let (package, name) = type_name.rsplit_once('.')?;
        self.packages.get(package)?.structs.get(name)
    }

    /// All values that a string, or the strings in a list or map, may have. Empty if there are others.
    pub(super) fn allowed_values(&self, type_name: &str, field: &GoField) -> Vec<&str> {
        let Some((own, _)) = type_name.rsplit_once('.') else { return Vec::new() };
        let element = field.go_type.rsplit(['*', ']']).next().unwrap_or_default();
        let (package, name) = match element.split_once('.') {
            None => (own, element),
            Some((import, name)) => {
                let known = IMPORTS.iter().find(|(known, _)| *known == import);
                (known.map_or("", |(_, package)| package), name)
            }
        };
        let package = self.packages.get(package).filter(|package| package.enums.contains(name));
        let values = package.and_then(|package| package.values.get(name));
        values.into_iter().flatten().map(String::as_str).collect()
    }
}

impl GoField {
    /// The name in JSON; empty for an embedded struct.
    pub(super) fn json_name(&self) -> &str {
        &self.json
    }

    /// Whether the fields of the struct are fields of the one around it.
    pub(super) fn is_inline(&self) -> bool {
        self.json.is_empty()
    }

    /// Whether there may be nothing, which is not zero.
    pub(super) fn is_pointer(&self) -> bool {
        self.go_type.starts_with('*')
    }

    /// Whether JSON leaves a zero value out. Go never takes a struct for empty, but may take it for zero.
    pub(super) fn is_omitted(&self, is_struct: bool) -> bool {
        self.omit_zero || self.omit_empty && (self.is_pointer() || !is_struct)
    }

    /// The flags of the data file that follow from the Go type, given how the data file writes it.
    pub(super) fn flags(&self, type_ref: &str) -> String {
        let mut flags = String::new();
        let pointer = self.is_pointer();
        if self.omit_empty && !pointer && can_be_omitted(type_ref) {
            flags.push_str(" omit-zero");
        }
        let default = match &self.default {
            Some(default) => Some(default.as_str()),
            None if self.omit_zero => None,
            None if pointer => (!self.omit_empty && !is_struct(type_ref)).then_some("null"),
            None if self.omit_empty && can_be_omitted(type_ref) => None,
            None => zero(type_ref),
        };
        if let Some(default) = default {
            flags.push_str(&format!(" default={default}"));
        }
        flags
    }
}

/// Whether `omitempty` has an effect: Go never omits a struct, whatever it holds.
fn can_be_omitted(type_ref: &str) -> bool {
    zero(type_ref).is_none_or(|zero| matches!(zero, "0" | "\"\"" | "false" | "null")) && !is_struct(type_ref)
}

fn is_struct(type_ref: &str) -> bool {
    OPAQUE.contains(&type_ref)
        || matches!(type_ref, "quantity" | "time" | "micro-time" | "duration" | "int-or-string")
        || type_ref.contains('.') && !type_ref.starts_with(['[', '{'])
}

/// What Go writes for a field that was never set.
fn zero(type_ref: &str) -> Option<&'static str> {
    match type_ref {
        "string" => Some("\"\""),
        "boolean" => Some("false"),
        "int32" | "int64" | "integer" | "number" | "int-or-string" => Some("0"),
        "quantity" => Some("\"0\""),
        "bytes" | "duration" => None,
        opaque if OPAQUE.contains(&opaque) => None,
        "time" | "micro-time" => Some("null"),
        list_or_map if list_or_map.starts_with(['[', '{']) => Some("null"),
        _ => Some("{}"),
    }
}

fn find(package: &Package, name: &str, json: &str) -> Option<GoField> {
    let fields = package.structs.get(name)?;
    fields.iter().find_map(|field| match field.json.as_str() {
        "" => find(package, &field.go_type, json),
        _ if field.json == json => Some(field.clone()),
        _ => None,
    })
}

/// The folders of the API groups in the modules that lie beside the one that the OpenAPI file is in.
pub(super) fn roots_beside(swagger: &Path) -> Result<Vec<PathBuf>> {
    let module = swagger
        .ancestors()
        .find(|path| file_name(path).starts_with("kubernetes@v1."))
        .context("the OpenAPI file must be in the Go module cache, below k8s.io/kubernetes@v1.MINOR.PATCH")?;
    let version = file_name(module).replacen("kubernetes@v1.", "v0.", 1);
    let cache = module.parent().context("the module has no parent")?;
    let modules = [("api", ""), ("apimachinery", "pkg/apis"), ("apiextensions-apiserver", "pkg/apis")];
    let roots = modules.map(|(module, folder)| {
        let root = cache.join(format!("{module}@{version}")).join(folder);
        if !root.is_dir() {
            bail!("{} is missing: run `go mod download k8s.io/{module}@{version}`", root.display());
        }
        Ok(root)
    });
    roots.into_iter().collect()
}

/// Reads `GROUP/VERSION/*.go` below the root, as packages named `GROUP.VERSION`.
fn read_groups(root: &Path, packages: &mut BTreeMap<String, Package>) -> Result<()> {
    for group in folders(root)? {
        for version in folders(&group)? {
            let mut package = Package::default();
            for file in entries(&version)? {
                let name = file_name(&file);
                if name.ends_with(".go") && !name.ends_with("_test.go") && !name.starts_with("zz_generated") {
                    let source =
                        fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
                    package.read(&source);
                }
            }
            package.resolve_constants();
            packages.insert(format!("{}.{}", file_name(&group), file_name(&version)), package);
        }
    }
    Ok(())
}

/// Takes over the types that stand in other packages.
fn resolve_aliases(packages: &mut BTreeMap<String, Package>) {
    let names: Vec<String> = packages.keys().cloned().collect();
    for own in names {
        let aliases = packages.get_mut(&own).map(|package| std::mem::take(&mut package.aliases));
        for Alias { name, package: other, target } in aliases.unwrap_or_default() {
            let Some(other) = packages.get(&other) else { continue };
            let structure = other.structs.get(&target).cloned();
            let values = other.values.get(&target).cloned();
            let is_enum = other.enums.contains(&target);
            let Some(package) = packages.get_mut(&own) else { continue };
            package.structs.extend(structure.map(|fields| (name.clone(), fields)));
            package.values.extend(values.map(|values| (name.clone(), values)));
            package.enums.extend(is_enum.then_some(name));
        }
    }
}

impl Package {
    /// Takes structs and constants from one file. Kubernetes API types put each field on one line.
    fn read(&mut self, source: &str) {
        let mut current: Option<String> = None;
        let (mut default, mut is_enum) = (None, false);
        for line in source.lines() {
            let trimmed = line.trim();
            if let Some(name) = struct_name(line) {
                current = Some(name.to_owned());
                self.structs.entry(name.to_owned()).or_default();
            } else if let Some(name) = empty_struct_name(line) {
                self.structs.entry(name.to_owned()).or_default();
            } else if let Some((name, package)) = import(trimmed) {
                self.imports.insert(name.to_owned(), package);
            } else if let Some((name, import, target)) = alias(line) {
                let package = self.imports.get(import).cloned().unwrap_or_default();
                self.aliases.push(Alias { name: name.to_owned(), package, target: target.to_owned() });
                is_enum = false;
            } else if trimmed == "// +enum" {
                is_enum = true;
            } else if let Some(name) = string_type(line) {
                self.enums.extend(is_enum.then(|| name.to_owned()));
                is_enum = false;
            } else if line.starts_with('}') {
                current = None;
            } else if let Some(marker) = trimmed.strip_prefix("// +default=") {
                default = Some(marker.to_owned());
            } else if let (Some(name), Some(field)) = (&current, field_of(trimmed, default.clone())) {
                self.structs.entry(name.clone()).or_default().push(field);
                default = None;
            } else if let Some((name, type_name, value)) = constant(trimmed) {
                self.constants.insert(name.to_owned(), value.to_owned());
                let values = self.values.entry(type_name.to_owned()).or_default();
                values.insert(value.trim_matches('"').to_owned());
            } else if let Some(type_name) = type_of_conversion(trimmed) {
                // Better no values than some of them.
                self.enums.remove(type_name);
            }
        }
    }

    /// Replaces `ref(Name)` in defaults by what the constant holds.
    fn resolve_constants(&mut self) {
        for field in self.structs.values_mut().flatten() {
            let Some(name) = field.default.as_deref().and_then(|text| text.strip_prefix("ref(")) else {
                continue;
            };
            field.default = self.constants.get(name.trim_end_matches(')')).cloned();
        }
    }
}

fn struct_name(line: &str) -> Option<&str> {
    line.strip_prefix("type ")?.strip_suffix(" struct {")
}

fn empty_struct_name(line: &str) -> Option<&str> {
    line.strip_prefix("type ")?.strip_suffix(" struct{}")
}

/// Name and package of `v1 "k8s.io/api/GROUP/VERSION"`.
fn import(line: &str) -> Option<(&str, String)> {
    let (name, path) = line.split_once(" \"k8s.io/api/")?;
    Some((name, path.strip_suffix('"')?.replace('/', ".")))
}

/// `type Name = v1.Other`
fn alias(line: &str) -> Option<(&str, &str, &str)> {
    let (name, target) = line.strip_prefix("type ")?.split_once(" = ")?;
    let (import, target) = target.split_once('.')?;
    Some((name, import, target))
}

/// `type Name string`
fn string_type(line: &str) -> Option<&str> {
    line.strip_prefix("type ")?.strip_suffix(" string")
}

/// Name, type and value of `Name Type = "value"` or `Name = Type("value")`.
fn constant(line: &str) -> Option<(&str, &str, &str)> {
    let (left, value) = line.trim_start_matches("const ").split_once(" = ")?;
    let mut words = left.split_whitespace();
    let (name, declared) = (words.next()?, words.next());
    // Something may be said about it behind it.
    let value = value.split(" //").next()?.trim();
    let (type_name, value) = match (declared, value.strip_suffix(')').and_then(|call| call.split_once('('))) {
        (None, Some((type_name, value))) => (type_name, value),
        (declared, _) => (declared.unwrap_or(""), value),
    };
    (value.starts_with('"') && value.ends_with('"')).then_some((name, type_name, value))
}

/// The type of a constant whose value stands elsewhere: `Name = Type(other.Name)`.
fn type_of_conversion(line: &str) -> Option<&str> {
    let (type_name, argument) = line.split_once(" = ")?.1.strip_suffix(')')?.split_once('(')?;
    argument.contains('.').then_some(type_name)
}

/// ``Name Type `json:"name,omitempty"` ``, or ``Embedded `json:",inline"` ``.
fn field_of(line: &str, default: Option<String>) -> Option<GoField> {
    if line.starts_with("//") {
        return None;
    }
    let (declaration, tags) = line.split_once('`')?;
    let tag = tags.split_once("json:\"")?.1.split_once('"')?.0;
    let mut options = tag.split(',');
    let json = options.next()?.to_owned();
    let options: Vec<&str> = options.collect();
    Some(GoField {
        json,
        go_type: declaration.split_whitespace().last()?.to_owned(),
        omit_empty: options.contains(&"omitempty"),
        omit_zero: options.contains(&"omitzero"),
        default,
        number: tags.split_once("protobuf:\"").and_then(|(_, tag)| tag.split(',').nth(1)?.parse().ok()),
    })
}

pub(super) fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(path).with_context(|| format!("listing {}", path.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
// +enum
type Kind string

const Shared Kind = "Shared"

const (
	Dedicated Kind = "Dedicated" // of its own
	Unset     Kind = ""
	Other     Mode = "Other"
)

// +enum
type Family string

const (
	Four = Family(other.Four)
	Name = Family("Name")
)

// +enum
type Path string

const Exact = Path("Exact")

type Port struct {
	Handler `json:",inline" protobuf:"bytes"`
	// Old int32 `json:"old"`
	Number int32 `json:"number" protobuf:"varint"`
	// +default="TCP"
	Protocol Protocol `json:"protocol,omitempty"`
	Host *string `json:"host,omitempty"`
	// +default=ref(Shared)
	Kind *Kind `json:"kind"`
	Created Time `json:"created,omitempty,omitzero"`
}

type Handler struct {
	Exec *ExecAction `json:"exec,omitempty"`
}
"#;

    fn package() -> Package {
        let mut package = Package::default();
        package.read(SOURCE);
        package.resolve_constants();
        package
    }

    #[test]
    fn flags_say_what_go_writes() {
        let package = package();
        for (json, type_ref, expected) in [
            ("number", "int32", " default=0"),
            ("protocol", "string", " omit-zero default=\"TCP\""),
            ("host", "string", ""),
            ("kind", "string", " default=\"Shared\""),
            ("created", "time", ""),
            ("exec", "x.ExecAction", ""),
        ] {
            let field = find(&package, "Port", json).unwrap_or_else(|| panic!("{json} was not read"));
            assert_eq!(field.flags(type_ref), expected, "{json}");
        }
        assert_eq!(find(&package, "Port", "old"), None, "a comment is no field");
    }

    #[test]
    fn enumerations_know_their_values() {
        let go = GoTypes { packages: BTreeMap::from([("core.v1".to_owned(), package())]) };
        let field = |go_type: &str| field_of(&format!("Kind {go_type} `json:\"kind\"`"), None).unwrap();
        for (go_type, expected) in [
            ("Kind", &["", "Dedicated", "Shared"][..]),
            ("*Kind", &["", "Dedicated", "Shared"]),
            ("map[ResourceName]v1.Kind", &["", "Dedicated", "Shared"]),
            ("Path", &["Exact"]),
            ("Family", &[]),
            ("[]Mode", &[]),
            ("metav1.Kind", &[]),
            ("string", &[]),
        ] {
            assert_eq!(go.allowed_values("core.v1.Port", &field(go_type)), expected, "{go_type}");
        }
    }

    #[test]
    fn aliases_are_what_they_stand_for() {
        let mut newer = Package::default();
        newer.read("\tcorev1 \"k8s.io/api/core/v1\"\ntype Door = corev1.Port\ntype Sort = corev1.Kind\n");
        let mut packages = BTreeMap::from([("core.v1".to_owned(), package()), ("core.v2".to_owned(), newer)]);
        resolve_aliases(&mut packages);
        let go = GoTypes { packages };
        assert!(go.field("core.v2.Door", "number").unwrap().is_some());
        let field = field_of("Sort Sort `json:\"sort\"`", None).unwrap();
        assert_eq!(go.allowed_values("core.v2.Door", &field), ["", "Dedicated", "Shared"]);
    }

    #[test]
    fn structs_are_always_written_and_empty_lists_never() {
        let field = field_of("Resources Resources `json:\"resources,omitempty\"`", None).unwrap();
        assert_eq!(field.flags("core.v1.ResourceRequirements"), " default={}");
        assert_eq!(field.flags("quantity"), " default=\"0\"");
        assert_eq!(field.flags("[string]"), " omit-zero");
        assert_eq!(field.flags("{core.v1.X}"), " omit-zero");
        assert_eq!(field.flags("time"), " default=null");
        assert_eq!(field.flags("raw-extension"), "");
    }
}
