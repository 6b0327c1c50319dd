//! Clients that command the agent.

mod commands;
mod event_kinds;
mod hostile_clients;
mod java_api;
mod namespaces;
mod notices;
mod python_client;
mod socket;
mod stuck_client;
mod triggers;
mod waiting_for_client;
