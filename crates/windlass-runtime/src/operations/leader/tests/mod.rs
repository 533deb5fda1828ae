//! Elections under every interleaving of a small model, and with a real API.

mod interleavings;
mod servers;
