//! The interfaces of pods as files: results in the format of CNI, one for each interface, each written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::tables::{Change, Key, Row};

const VERSION: &str = "1.1.0";

/// Reads what is in the folder, and makes it if it does not exist. Files that are not ours are left alone.
pub(super) fn open(folder: &Path) -> Result<Vec<(Key, Row)>, (PathBuf, io::Error)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    let mut known = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let Some(key) = key_of(&path) else { continue };
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        match serde_json::from_str(&text).ok().as_ref().and_then(row_of) {
            Some(row) => known.push((key, row)),
            None => tracing::warn!(file = %path.display(), "is no result of ours: it stays as it is"),
        }
    }
    Ok(known)
}

/// Writes or removes the file of an interface. Other changes have none.
pub(super) fn apply(folder: &Path, change: &Change) -> io::Result<()> {
    let Key::Interface { namespace, pod, itf } = &change.key else { return Ok(()) };
    let path = folder.join(format!("{namespace}_{pod}_{itf}.json"));
    match &change.row {
        Some(row) => write(folder, &path, &result_of(itf, row)),
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// A reader sees the old file or the new one, also after a power failure.
fn write(folder: &Path, path: &Path, result: &Value) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(folder)?;
    file.write_all(format!("{result:#}\n").as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

/// `NAMESPACE_POD_INTERFACE.json`: neither a namespace nor a pod has an underscore in its name.
fn key_of(path: &Path) -> Option<Key> {
    let mut parts = path.file_name()?.to_str()?.strip_suffix(".json")?.splitn(3, '_');
    let mut next = || parts.next().map(str::to_owned);
    Some(Key::Interface { namespace: next()?, pod: next()?, itf: next()? })
}

fn result_of(itf: &str, row: &Row) -> Value {
    let Row::Interface { address, gateway, mac, veth, netns } = row else { return Value::Null };
    json!({
        "cniVersion": VERSION,
        "interfaces": [{ "name": itf, "mac": mac, "sandbox": netns }, { "name": veth }],
        "ips": [{ "address": address, "gateway": gateway, "interface": 0 }],
        "routes": [{ "dst": "0.0.0.0/0", "gw": gateway }],
    })
}

fn row_of(result: &Value) -> Option<Row> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Row::Interface {
        address: text(&result["ips"][0]["address"])?,
        gateway: text(&result["ips"][0]["gateway"])?,
        mac: text(&result["interfaces"][0]["mac"])?,
        veth: text(&result["interfaces"][1]["name"])?,
        netns: text(&result["interfaces"][0]["sandbox"])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_written_read_again_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let text = |text: &str| text.to_owned();
        let key = Key::Interface { namespace: text("default"), pod: text("web.0"), itf: text("eth0") };
        let row = Row::Interface {
            address: text("10.0.0.5/16"),
            gateway: text("10.0.0.1"),
            mac: text("02:07:0a:00:00:05"),
            veth: text("v0000070a000005"),
            netns: text("/run/netns/x"),
        };
        let change = |row| Change::new(key.clone(), row, 0);
        apply(folder.path(), &change(Some(row.clone()))).unwrap();
        fs::write(folder.path().join("notes.txt"), "not ours").unwrap();
        fs::write(folder.path().join("default_x_eth0.json"), "{").unwrap();
        assert_eq!(open(folder.path()).unwrap(), [(key.clone(), row)]);
        let written = fs::read_to_string(folder.path().join("default_web.0_eth0.json")).unwrap();
        let result: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(result["ips"][0]["address"], "10.0.0.5/16");
        assert_eq!(result["cniVersion"], VERSION);
        for _ in 0..2 {
            apply(folder.path(), &change(None)).unwrap();
            assert_eq!(open(folder.path()).unwrap(), []);
        }
    }
}
