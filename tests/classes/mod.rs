//! Classes: their definitions, bytecode, initialization, compilation and redefinition.

mod access_flags;
mod compiled_methods;
mod definitions;
mod initialisation;
mod loaders;
mod original_bytecode;
mod other_agents;
mod redefinition;
mod retransformation;
mod unloading;
