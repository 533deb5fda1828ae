//! The chain must not depend on the way that blocks came.

use proptest::prelude::*;

use super::super::block::BlockKind;
use super::*;

fn block(previous: &str, nonce: u64) -> Block {
    let made = BlockTime { seconds: 0, nanos: i32::try_from(nonce % 3).unwrap() };
    Block::new(previous, BlockKind::Client, made, nonce.to_le_bytes().to_vec(), nonce)
}

/// A forest: each block stands after an earlier one, or is a first one.
fn forest() -> impl Strategy<Value = Vec<Block>> {
    prop::collection::vec(any::<prop::sample::Index>(), 1..40).prop_map(|parents| {
        let mut blocks: Vec<Block> = Vec::new();
        for (nonce, parent) in parents.iter().enumerate() {
            let chosen = parent.index(blocks.len() + 1);
            let previous = blocks.get(chosen).map_or(String::new(), |block| block.id.clone());
            blocks.push(block(&previous, nonce as u64));
        }
        blocks
    })
}

fn ids(chain: &Chain) -> Vec<String> {
    chain.blocks().map(|block| block.id.clone()).collect()
}

/// Delivers one at a time, what is refused again later, as a sender does.
fn deliver(blocks: &[Block]) -> Chain {
    let mut chain = Chain::default();
    let mut waiting: Vec<Block> = blocks.to_vec();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|block| chain.adopt(vec![block.clone()]).is_err());
        assert!(waiting.len() < before, "nothing can be linked any more");
    }
    chain
}

proptest! {
    #[test]
    fn any_order_and_any_repetition_gives_the_same_chain(
        (blocks, shuffled) in forest().prop_flat_map(|blocks| (Just(blocks.clone()), Just(blocks).prop_shuffle())),
        repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut arriving = shuffled.clone();
        arriving.extend(repeated.iter().map(|index| index.get(&blocks).clone()));
        let (straight, all_at_once) = (deliver(&blocks), {
            let mut chain = Chain::default();
            chain.adopt(arriving.clone()).unwrap();
            chain
        });
        let one_by_one = deliver(&arriving);
        prop_assert_eq!(ids(&straight), ids(&one_by_one));
        prop_assert_eq!(ids(&straight), ids(&all_at_once));
        prop_assert_eq!(straight.digest(), one_by_one.digest());
        prop_assert_eq!(straight.len(), blocks.len());
    }

    #[test]
    fn merging_two_chains_loses_nothing_and_is_the_same_both_ways(left in forest(), right in forest()) {
        // Nonces repeat between the two, so some blocks are the same and some are not.
        let merge = |first: &[Block], second: &[Block]| {
            let mut chain = deliver(first);
            chain.adopt(second.to_vec()).unwrap();
            chain
        };
        let merged = merge(&left, &right);
        prop_assert_eq!(ids(&merged), ids(&merge(&right, &left)));
        for block in left.iter().chain(&right) {
            prop_assert!(merged.get(&block.id).is_some());
        }
    }

    #[test]
    fn a_block_comes_after_the_one_before_it(blocks in forest()) {
        let chain = deliver(&blocks);
        let order = ids(&chain);
        let position = |id: &str| order.iter().position(|other| other == id);
        for block in blocks.iter().filter(|block| !block.previous.is_empty()) {
            prop_assert!(position(&block.previous) < position(&block.id));
        }
    }

    #[test]
    fn a_new_block_comes_last(blocks in forest()) {
        let mut chain = deliver(&blocks);
        let next = block(chain.tip(), 1000);
        chain.adopt(vec![next.clone()]).unwrap();
        prop_assert_eq!(chain.tip(), next.id);
    }
}

#[test]
fn nothing_is_taken_of_what_does_not_link() {
    let mut chain = deliver(&[block("", 1)]);
    let before = chain.digest();
    let refusal = chain.adopt(vec![block("", 2), block("nowhere", 3)]).unwrap_err();
    assert!(matches!(refusal, Refusal::Unlinked { previous, .. } if previous == "nowhere"));
    assert_eq!((chain.len(), chain.digest()), (1, before));
}

#[test]
fn a_circle_does_not_link() {
    let named =
        |id: &str, previous: &str| Block { id: id.to_owned(), previous: previous.to_owned(), ..block("", 1) };
    let refusal = Chain::default().adopt(vec![named("a", "b"), named("b", "a")]).unwrap_err();
    assert!(matches!(refusal, Refusal::Unlinked { .. }));
}

#[test]
fn an_identifier_stands_for_one_block() {
    let mut chain = Chain::default();
    let first = Block { id: "same".to_owned(), ..block("", 1) };
    chain.adopt(vec![first.clone()]).unwrap();
    let other = Block { payload: b"other".to_vec(), ..first };
    assert_eq!(chain.adopt(vec![other]).unwrap_err(), Refusal::Conflict { id: "same".to_owned() });
}

#[test]
fn limits_hold() {
    let member = |number: u64| {
        let payload = format!(r#"{{"Address":"h:{number}","Name":""}}"#).into_bytes();
        Block::new("", BlockKind::Network, BlockTime::default(), payload, number)
    };
    let chain = |limits| Chain::new(limits);
    let limits = ChainLimits { blocks: 2, payload_bytes: 30, ..ChainLimits::default() };
    assert!(chain(limits).adopt(vec![block("", 1), block("", 2)]).is_ok());
    let refusal = chain(limits).adopt(vec![block("", 1), block("", 2), block("", 3)]).unwrap_err();
    assert_eq!(refusal, Refusal::Full { what: "blocks", limit: 2 });
    let large = Block::new("", BlockKind::Client, BlockTime::default(), vec![0; 31], 1);
    assert_eq!(chain(limits).adopt(vec![large]).unwrap_err(), Refusal::Large { bytes: 31, limit: 30 });
    let few_bytes = ChainLimits { bytes: 1000, ..ChainLimits::default() };
    assert!(chain(few_bytes).adopt(vec![block("", 1)]).is_ok());
    assert!(chain(few_bytes).adopt(vec![block("", 1), block("", 2)]).is_err());
    let mut few = chain(ChainLimits { members: 1, ..ChainLimits::default() });
    few.adopt(vec![member(1)]).unwrap();
    assert_eq!(few.adopt(vec![member(2)]).unwrap_err(), Refusal::Full { what: "members", limit: 1 });
    few.adopt(vec![block("", 9)]).unwrap();
}

#[test]
fn a_chain_knows_what_it_was() {
    let mut chain = Chain::default();
    assert_eq!(chain.digest(), EMPTY);
    chain.adopt(vec![block("", 1)]).unwrap();
    let earlier = chain.digest();
    chain.adopt(vec![block("", 2)]).unwrap();
    assert!(chain.has_been(&earlier) && chain.has_been(&chain.digest()));
    assert!(!chain.has_been(&[7; 32]));
}
