//! `windlass demo`: a cluster on this machine, its controllers at work, a contact that is killed, and a proof.

/// Prints a line. A reader that has seen enough of a demonstration is no failure.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($text)*)));
    }};
}

mod networks;
mod peers;
mod progress;
mod proof;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::api::{Api, ApiResource, PostParams};
use kube::{Client, Resource};
use two_configmaps::{Pair, pair};
use web_app::{WebApp, web_app};
use windlass_klight::network::LightNetwork;
use windlass_mizar::MizarSettings;
use windlass_server::ServerOptions;

use crate::local_cluster::LocalCluster;

use peers::LightpeerProcess;
use progress::Progress;

const NETWORKS: [&str; 2] = ["blue", "green"];
const PEERS_OF_EACH: usize = 3;
const NETWORK: &str = "LightNetwork";
/// What is kept in the network that loses its contact.
const BLOCKS: [&str; 2] = ["first block", "second block"];

/// Runs the whole demonstration; an error means that something did not come out as promised.
pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the server")?;
    runtime.block_on(async {
        let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
        // Whatever it has started ends with it, also half-way.
        tokio::select! {
            ended = demo() => ended,
            _ = stop => bail!("it was stopped"),
        }
    })
}

async fn demo() -> anyhow::Result<()> {
    let begun = Instant::now();
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let kubeconfig = folder.path().join("kubeconfig");
    let mizar = networks::settings(MizarSettings::from_environment()?);
    let cluster = LocalCluster::start(ServerOptions::default(), &mizar, anywhere, &kubeconfig).await?;
    say!(
        "1. A Kubernetes API on this machine, {}, with {} controllers:",
        cluster.url(),
        cluster.controllers.len()
    );
    for bundled in cluster.controllers.iter().filter(|bundled| bundled.suite_name().is_none()) {
        say!("   {:<16} {}", bundled.name(), bundled.description());
    }
    let of_mizar = cluster.controllers.iter().filter(|bundled| bundled.suite_name().is_some()).count();
    say!("   {:<16} {of_mizar} operators of virtual networks", "mizar");
    let mut progress = Progress::watch(&cluster.client, kinds(), begun);

    say!("\n2. Somebody asks for a Pair and a WebApp, and six pods come up, in two networks of lightpeers:");
    let mut peers = start_peers()?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), "default");
    tokio::try_join!(
        ask_for_samples(&cluster.client),
        create_pods(&pods, &peers),
        progress.until("everything is ready", everything_is_ready),
    )?;

    say!("\n3. The networks are real: what one peer is given, all of its network have:");
    of(&peers, &name(NETWORKS[0], 0))?.persist(BLOCKS[0]).await?;
    show_blocks(&peers, &[BLOCKS[0]]).await?;

    say!("\n4. The pod through which new ones would join {} is killed, and a new pod comes up:", NETWORKS[0]);
    replace_contact(&mut peers, &pods, &mut progress).await?;

    say!("\n5. The new one knows what was kept before it came, and what is kept from now on:");
    of(&peers, &name(NETWORKS[0], PEERS_OF_EACH))?.persist(BLOCKS[1]).await?;
    show_blocks(&peers, &BLOCKS).await?;

    say!(
        "\n6. Virtual networks: twenty nodes, each with the daemon of a droplet; two VPCs with pods, and a service:"
    );
    let mut progress = Progress::watch(&cluster.client, networks::kinds(), begun);
    let (droplets, ()) = tokio::try_join!(
        networks::make(&cluster.client),
        progress.until("the networks are ready", networks::are_ready),
    )?;
    networks::show_tables(&cluster.client).await?;

    say!("\n7. A droplet is killed, and what was on it is placed on another one:");
    let droplets = networks::lose_a_droplet(&cluster.client, droplets).await?;
    cluster.stop().await;
    drop((peers, droplets));
    let live = begun.elapsed();

    say!(
        "\n8. Was that luck? Every interleaving of crashes, duplicates and reordering, for the controller of the Pair:"
    );
    proof::show()?;
    summarise(live, begun.elapsed());
    Ok(())
}

/// What the demonstration shows of the cluster.
fn kinds() -> Vec<ApiResource> {
    let built_in = [ApiResource::erase::<Pod>(&()), ApiResource::erase::<ConfigMap>(&())];
    let more = [ApiResource::erase::<Deployment>(&()), ApiResource::erase::<Service>(&())];
    let parents = [
        ApiResource::erase::<Pair>(&()),
        ApiResource::erase::<WebApp>(&()),
        ApiResource::erase::<LightNetwork>(&()),
    ];
    built_in.into_iter().chain(more).chain(parents).collect()
}

async fn ask_for_samples(client: &Client) -> anyhow::Result<()> {
    create(client, &pair("hello")).await?;
    let mut shop = web_app("shop");
    shop.spec.exposed = true;
    create(client, &shop).await
}

/// In turns, so that both networks form at the same time.
async fn create_pods(pods: &Api<Pod>, peers: &[LightpeerProcess]) -> anyhow::Result<()> {
    for number in 0..PEERS_OF_EACH {
        for network in NETWORKS {
            peers::create_pod(pods, of(peers, &name(network, number))?, network).await?;
        }
    }
    Ok(())
}

async fn create<K>(client: &Client, object: &K) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    Api::<K>::namespaced(client.clone(), "default").create(&PostParams::default(), object).await?;
    Ok(())
}

fn everything_is_ready(progress: &Progress) -> bool {
    progress.is_ready("Pair", "hello")
        && progress.is_ready("WebApp", "shop")
        && NETWORKS.iter().all(|network| is_whole(progress, network))
}

/// Whether all pods of a network are members.
fn is_whole(progress: &Progress, network: &str) -> bool {
    let members = progress.object(NETWORK, network)["status"]["members"].as_u64();
    progress.is_ready(NETWORK, network) && members == u64::try_from(PEERS_OF_EACH).ok()
}

/// `blue-0`.
fn name(network: &str, number: usize) -> String {
    format!("{network}-{number}")
}

fn start_peers() -> anyhow::Result<Vec<LightpeerProcess>> {
    let names = NETWORKS.iter().flat_map(|network| (0..PEERS_OF_EACH).map(|number| name(network, number)));
    names.map(|name| LightpeerProcess::start(&name)).collect()
}

fn of<'a>(peers: &'a [LightpeerProcess], name: &str) -> anyhow::Result<&'a LightpeerProcess> {
    peers.iter().find(|peer| peer.name() == name).with_context(|| format!("there is no lightpeer {name}"))
}

/// Kills the process of the contact of the first network, and starts another peer.
async fn replace_contact(
    peers: &mut Vec<LightpeerProcess>,
    pods: &Api<Pod>,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let network = NETWORKS[0];
    let contact =
        progress.object(NETWORK, network)["status"]["contact"].as_str().unwrap_or_default().to_owned();
    let index = peers.iter().position(|peer| peer.name() == contact).context("the network has no contact")?;
    let dead = peers.remove(index);
    say!("   kill -9 {}, the process of {contact}", dead.process_id());
    dead.kill()?;
    let newcomer = LightpeerProcess::start(&name(network, PEERS_OF_EACH))?;
    peers::create_pod(pods, &newcomer, network).await?;
    let joined = newcomer.name().to_owned();
    peers.push(newcomer);
    progress
        .until("the new pod joins through another contact", |progress| {
            let status = &progress.object(NETWORK, network)["status"];
            let is_member = |pod: &str| {
                status["stack"].as_array().is_some_and(|stack| stack.iter().any(|entry| entry["pod"] == pod))
            };
            is_member(&joined) && !is_member(&contact)
        })
        .await?;
    // A Deployment would replace it; the controller has got over it already.
    peers::delete_pod(pods, &contact).await?;
    progress.until("the network is ready again", |progress| is_whole(progress, network)).await?;
    say!(
        "   {contact} is forgotten, {joined} has joined through a member that lives, and is the next contact"
    );
    Ok(())
}

/// Asks every peer what it knows; those of the first network must know these blocks, and the others none.
async fn show_blocks(peers: &[LightpeerProcess], expected: &[&str]) -> anyhow::Result<()> {
    for peer in peers {
        let blocks = peer.query().await.with_context(|| format!("asking {}", peer.name()))?;
        let shown = if blocks.is_empty() { "nothing".to_owned() } else { blocks.join(", ") };
        say!("   {:<10} {:<22} knows {shown}", peer.name(), peer.address());
        let expected: &[&str] = if peer.name().starts_with(NETWORKS[0]) { expected } else { &[] };
        ensure!(blocks == expected, "{} should know {expected:?}", peer.name());
    }
    Ok(())
}

fn summarise(live: Duration, all: Duration) {
    say!(
        "\nDone, in {:.1} s ({:.1} s of them on the live cluster): 1 Pair, 1 WebApp and 2 networks ready; a contact \
         killed and replaced, no block lost;\na droplet lost and the tables of all others right; every interleaving of a \
         controller checked, and a mistake found.",
        all.as_secs_f64(),
        live.as_secs_f64()
    );
    // With `cargo run` nothing of this name is on the path.
    let windlass = if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "windlass" };
    let next = [
        ("up", "the same controllers on a cluster to play with; it says how"),
        ("graph klight --format svg > klight.svg", "the states of a controller, as a picture"),
        ("check klight", "every interleaving for the networks, too: half a minute"),
        ("up --droplets 5", "a cluster with virtual networks: docs/mizar.md"),
        ("check --list", "what can be checked"),
    ];
    say!("Next:");
    for (arguments, what) in next {
        say!("  {:<61} {what}", format!("{windlass} {arguments}"));
    }
    say!("  {:<61} a controller of your own in fifteen minutes", "docs/guide.md");
}
