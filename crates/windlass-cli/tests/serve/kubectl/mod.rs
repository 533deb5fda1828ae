//! The real kubectl: transcripts of what it printed with a real kube-apiserver, played against this server.
//!
//! `WINDLASS_BLESS=1` records them again from the kube-apiserver in `KUBEBUILDER_ASSETS`; those that need more of a
//! cluster than that are written by hand and say so.

mod mask;
mod shell;
mod transcript;

use std::path::PathBuf;

use conformance::kubernetes::Kubernetes;

use crate::served::Served;
use shell::Shell;
use transcript::Transcript;

macro_rules! transcripts {
    ($($name:ident)*) => {
        const ALL: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*
    };
}

transcripts! { access apply cascade change create custom delete describe discover explain get rollout scale wait watch }

#[test]
fn every_transcript_is_played() {
    let files = std::fs::read_dir(folder()).expect("the folder is there");
    let mut names: Vec<String> = files
        .map(|file| file.expect("it can be read").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ALL);
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/kubectl/transcripts"))
}

fn play(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).expect("the transcript can be read");
    let mut transcript = Transcript::parse(&text);
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        if !transcript.is_by_hand() {
            let real = Kubernetes::start().expect("a kube-apiserver");
            transcript.record(&Shell::new(&real.kubeconfig()));
            std::fs::write(&path, transcript.to_string()).expect("the transcript can be written");
        }
        return;
    }
    let served = Served::start(&transcript.server_arguments());
    let differences = transcript.differences(&Shell::new(&served.kubeconfig()));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
