//! The allocator of the `windlass` program: jemalloc, which keeps the threads of a server from waiting for memory.
//!
//! It is a crate of its own since the program is built without optimizations, to be there soon, and what every allocation
//! goes through is not: written there, it made writes to the server a tenth slower. A program has this allocator if it
//! depends on the crate and mentions it: `use windlass_allocator as _;`.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
