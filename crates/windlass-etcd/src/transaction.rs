//! The transactions of the registry: operations that happen only if a key is as expected.

use windlass_shard::Version;

use crate::error::EtcdError;
use crate::wire::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::wire::request_op::Request as Operation;
use crate::wire::response_op::Response as Outcome;
use crate::wire::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, TxnRequest, TxnResponse,
};

/// The most operations that etcd takes in a transaction, unless it was started with another limit.
pub(crate) const OPERATIONS_MAX: usize = 128;

/// Writes a key if it is still of this version; without a version, if it does not exist.
pub(crate) fn swap(key: &str, expected: Option<Version>, value: Vec<u8>) -> TxnRequest {
    // A key that does not exist was last written in revision 0.
    let revision = expected.map_or(0, |version| version.0.cast_signed());
    TxnRequest {
        compare: vec![compare(key, CompareTarget::Mod, TargetUnion::ModRevision(revision))],
        success: vec![put(key, value, 0)],
        failure: Vec::new(),
    }
}

/// Writes a key that ends with a lease, if another key has this value.
pub(crate) fn put_while(condition: (&str, Vec<u8>), key: &str, value: Vec<u8>, lease: i64) -> TxnRequest {
    let (other, expected) = condition;
    TxnRequest {
        compare: vec![compare(other, CompareTarget::Value, TargetUnion::Value(expected))],
        success: vec![put(key, value, lease)],
        failure: Vec::new(),
    }
}

/// Reads these keys at one revision.
pub(crate) fn read(keys: impl Iterator<Item = String>) -> TxnRequest {
    TxnRequest { compare: Vec::new(), success: keys.map(|key| get(&key)).collect(), failure: Vec::new() }
}

/// What a transaction that reads has found, in the order of its keys.
pub(crate) fn found(answer: TxnResponse, keys: usize) -> Result<Vec<Option<KeyValue>>, EtcdError> {
    let nonsense = |problem: &str| EtcdError::Answer { problem: problem.to_owned() };
    if answer.responses.len() != keys {
        return Err(nonsense("a transaction with another number of answers than of questions"));
    }
    let value = |outcome: Option<Outcome>| match outcome {
        Some(Outcome::ResponseRange(range)) => Ok(range.kvs.into_iter().next()),
        _ => Err(nonsense("no range in answer to a range")),
    };
    answer.responses.into_iter().map(|outcome| value(outcome.response)).collect()
}

/// Deletes a key.
pub(crate) fn delete(key: &str) -> RequestOp {
    let request = DeleteRangeRequest { key: key.as_bytes().to_vec(), range_end: Vec::new() };
    RequestOp { request: Some(Operation::RequestDeleteRange(request)) }
}

/// Writes a key that ends with a lease; 0 for none.
pub(crate) fn put(key: &str, value: Vec<u8>, lease: i64) -> RequestOp {
    let request = PutRequest { key: key.as_bytes().to_vec(), value, lease };
    RequestOp { request: Some(Operation::RequestPut(request)) }
}

fn get(key: &str) -> RequestOp {
    // A transaction of which no part is serializable is linearizable as a whole.
    let request = RangeRequest { key: key.as_bytes().to_vec(), ..RangeRequest::default() };
    RequestOp { request: Some(Operation::RequestRange(request)) }
}

fn compare(key: &str, target: CompareTarget, expected: TargetUnion) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: target.into(),
        key: key.as_bytes().to_vec(),
        target_union: Some(expected),
    }
}

/// The version of a key.
pub(crate) fn version_of(revision: i64) -> Version {
    Version(revision.cast_unsigned())
}
