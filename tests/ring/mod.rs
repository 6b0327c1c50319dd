//! The flight recorder (`overflow=ring`).

mod clients;
mod killed;
mod saving;
