//! What the Go sources say about a field that OpenAPI does not: whether nothing and zero can be told apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The Go modules of the API types, read package by package.
pub(super) struct GoTypes {
    packages: BTreeMap<String, Package>,
}

/// The structs of one package, and its string constants.
#[derive(Default)]
struct Package {
    structs: BTreeMap<String, Vec<GoField>>,
    constants: BTreeMap<String, String>,
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
}

impl GoTypes {
    /// Reads the modules that lie beside the one that the OpenAPI file is in.
    pub(super) fn beside(swagger: &Path) -> Result<Self> {
        let module = swagger.ancestors().find(|path| file_name(path).starts_with("kubernetes@v1.")).context(
            "the OpenAPI file must be in the Go module cache, below k8s.io/kubernetes@v1.MINOR.PATCH",
        )?;
        let version = file_name(module).replacen("kubernetes@v1.", "v0.", 1);
        let cache = module.parent().context("the module has no parent")?;
        let mut packages = BTreeMap::new();
        for (module, folder) in
            [("api", ""), ("apimachinery", "pkg/apis"), ("apiextensions-apiserver", "pkg/apis")]
        {
            let root = cache.join(format!("{module}@{version}")).join(folder);
            if !root.is_dir() {
                bail!("{} is missing: run `go mod download k8s.io/{module}@{version}`", root.display());
            }
            read_groups(&root, &mut packages)?;
        }
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
}

impl GoField {
    /// The flags of the data file that follow from the Go type, given how the data file writes it.
    pub(super) fn flags(&self, type_ref: &str) -> String {
        let mut flags = String::new();
        let pointer = self.go_type.starts_with('*');
        if self.omit_empty && !pointer && can_be_omitted(type_ref) {
            flags.push_str(" omit-zero");
        }
        let default = match &self.default {
            Some(default) => Some(default.as_str()),
            None if pointer || self.omit_zero => None,
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
    zero(type_ref).is_none_or(|zero| matches!(zero, "0" | "\"\"" | "false")) && !is_struct(type_ref)
}

fn is_struct(type_ref: &str) -> bool {
    matches!(type_ref, "any" | "quantity" | "time" | "micro-time" | "duration" | "int-or-string")
        || type_ref.contains('.') && !type_ref.starts_with(['[', '{'])
}

/// What Go writes for a field that was never set. A nil list or map is written as null, which means absent.
fn zero(type_ref: &str) -> Option<&'static str> {
    match type_ref {
        "string" => Some("\"\""),
        "boolean" => Some("false"),
        "int32" | "int64" | "integer" | "number" | "int-or-string" => Some("0"),
        "quantity" => Some("\"0\""),
        "any" | "bytes" | "time" | "micro-time" | "duration" => None,
        list_or_map if list_or_map.starts_with(['[', '{']) => None,
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

impl Package {
    /// Takes structs and constants from one file. Kubernetes API types put each field on one line.
    fn read(&mut self, source: &str) {
        let mut current: Option<String> = None;
        let mut default = None;
        for line in source.lines() {
            let trimmed = line.trim();
            if let Some(name) = struct_name(line) {
                current = Some(name.to_owned());
                self.structs.entry(name.to_owned()).or_default();
            } else if line.starts_with('}') {
                current = None;
            } else if let Some(marker) = trimmed.strip_prefix("// +default=") {
                default = Some(marker.to_owned());
            } else if let (Some(name), Some(field)) = (&current, field_of(trimmed, default.clone())) {
                self.structs.entry(name.clone()).or_default().push(field);
                default = None;
            } else if let Some((name, value)) = constant(trimmed) {
                self.constants.insert(name.to_owned(), value.to_owned());
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

/// `Name Type = "value"`
fn constant(line: &str) -> Option<(&str, &str)> {
    let (left, value) = line.trim_start_matches("const ").split_once(" = ")?;
    let name = left.split_whitespace().next()?;
    (value.starts_with('"') && value.ends_with('"')).then_some((name, value))
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
    })
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(path).with_context(|| format!("listing {}", path.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
const Shared Kind = "Shared"

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
    fn structs_are_always_written_and_empty_lists_never() {
        let field = field_of("Resources Resources `json:\"resources,omitempty\"`", None).unwrap();
        assert_eq!(field.flags("core.v1.ResourceRequirements"), " default={}");
        assert_eq!(field.flags("quantity"), " default=\"0\"");
        assert_eq!(field.flags("[string]"), " omit-zero");
        assert_eq!(field.flags("{core.v1.X}"), " omit-zero");
        assert_eq!(field.flags("time"), "");
    }
}
