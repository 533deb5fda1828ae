//! Bodies that are small, and cost much to read.

use super::raw::Raw;
use super::{Bystander, plain};

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";
const OBJECT: &str = "/api/v1/namespaces/default/configmaps/a?fieldManager=me";

/// Sends a body and expects that it is refused as the client's fault.
async fn is_refused(client: &mut Raw, method: &str, path: &str, content_type: &str, body: &str) {
    let extra = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    client.send(client.head(method, path, &extra)).await;
    client.send(body).await;
    let (code, answer) = client.answer().await;
    let begin: String = body.chars().take(60).collect();
    assert!((400..500).contains(&code), "{method} {content_type} {begin}: {code} {answer}");
}

#[tokio::test]
async fn deep_documents() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = Raw::connect(&served).await;
    for depth in [1_000, 100_000, 1_000_000] {
        let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for deep in [&objects, &lists].into_iter().filter(|deep| deep.len() < 3_000_000) {
            let within =
                format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"x":{deep}}}"#);
            for content_type in ["application/json", "application/yaml"] {
                is_refused(&mut client, "POST", COLLECTION, content_type, deep).await;
                is_refused(&mut client, "POST", COLLECTION, content_type, &within).await;
                is_refused(&mut client, "PUT", OBJECT, content_type, &within).await;
            }
            for kind in
                ["merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"]
            {
                let kind = format!("application/{kind}");
                is_refused(&mut client, "PATCH", OBJECT, &kind, deep).await;
                is_refused(&mut client, "PATCH", OBJECT, &kind, &within).await;
            }
            is_refused(&mut client, "DELETE", OBJECT, "application/json", deep).await;
        }
        let indented: String =
            (0..depth.min(1500)).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        is_refused(&mut client, "POST", COLLECTION, "application/yaml", &indented).await;
        others.are_served().await;
    }
}

#[tokio::test]
async fn bombs() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = Raw::connect(&served).await;
    let mut lists = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    let mut maps = "a0: &a0 {a: x, b: x}\n".to_owned();
    for level in 1..30 {
        let before = level - 1;
        let nine = [format!("*a{before}").as_str(); 9].join(",");
        lists += &format!("a{level}: &a{level} [{nine}]\n");
        maps +=
            &format!("a{level}: &a{level} {{<<: *a{before}, c{level}: *a{before}, d{level}: *a{before}}}\n");
    }
    let itself = "a: &a [*a]\n".to_owned();
    let many_documents = "---\na: b\n".repeat(100_000);
    let anchors: String = (0..20_000).map(|number| format!("a{number}: &a{number} x\n")).collect();
    for bomb in [lists, maps, itself, many_documents, anchors] {
        for (method, path, content_type) in
            [("POST", COLLECTION, "application/yaml"), ("PATCH", OBJECT, "application/apply-patch+yaml")]
        {
            is_refused(&mut client, method, path, content_type, &bomb).await;
        }
        others.are_served().await;
    }
}

/// A few bytes of a body that ask for all the defaults of a schema, again and again.
#[tokio::test]
async fn schemas_with_many_defaults() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = Raw::connect(&served).await;
    let fields: Vec<String> = (0..1000)
        .map(|number| format!(r#""field{number}":{{"type":"string","default":"{}"}}"#, "x".repeat(20)))
        .collect();
    let items = format!(r#"{{"type":"object","properties":{{{}}}}}"#, fields.join(","));
    let schema =
        format!(r#"{{"type":"object","properties":{{"items":{{"type":"array","items":{items}}}}}}}"#);
    let definition = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"bombs.example.com"}},"spec":{{"group":"example.com","scope":"Cluster","names":{{"plural":"bombs","kind":"Bomb"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    );
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let extra = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", definition.len());
    client.send(client.head("POST", DEFINITIONS, &extra)).await;
    client.send(&definition).await;
    assert_eq!(client.answer().await.0, 201);
    let items = vec!["{}"; 900_000].join(",");
    let bomb = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Bomb","metadata":{{"name":"a"}},"items":[{items}]}}"#
    );
    for (method, path, content_type) in [
        ("POST", "/apis/example.com/v1/bombs", "application/json"),
        ("PATCH", "/apis/example.com/v1/bombs/a?fieldManager=me", "application/apply-patch+yaml"),
    ] {
        let extra = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", bomb.len());
        client.send(client.head(method, path, &extra)).await;
        client.send(&bomb).await;
        let (code, answer) = client.answer().await;
        assert_eq!(code, 413, "{method}: {answer}");
        assert!(
            answer.contains("the defaults that the schema has for this object are more than"),
            "{answer}"
        );
        others.are_served().await;
    }
    assert!(served.most_memory_mib().is_none_or(|most| most < 1000), "{:?} MiB", served.most_memory_mib());
}

/// A patch that grows what it is applied to.
#[tokio::test]
async fn patches_that_grow() {
    let served = plain(&[]);
    let mut others = Bystander::of(&served).await;
    let mut client = Raw::connect(&served).await;
    let filled = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{}"}}}}"#, "x".repeat(500_000));
    let extra = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", filled.len());
    client.send(client.head("POST", COLLECTION, &extra)).await;
    client.send(&filled).await;
    assert_eq!(client.answer().await.0, 201);
    let copies: Vec<String> = (0..9_000)
        .map(|number| format!(r#"{{"op":"copy","from":"/data","path":"/data/c{number}"}}"#))
        .collect();
    let bomb = format!("[{}]", copies.join(","));
    is_refused(&mut client, "PATCH", OBJECT, "application/json-patch+json", &bomb).await;
    let many = vec![r#"{"op":"test","path":"/data/b","value":"x"}"#; 20_000];
    let many = format!("[{}]", many.join(","));
    is_refused(&mut client, "PATCH", OBJECT, "application/json-patch+json", &many).await;
    others.are_served().await;
}
