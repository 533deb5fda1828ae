//! All instances and servers of a run, and what faults do to them.

use anyhow::{Context, Result};
use conformance::process::Folder;
use tokio::task::block_in_place;

use crate::audit::Hit;
use crate::fault::{Fault, Silence, instance_name};
use crate::instance::{Instance, Settings};
use crate::servers::Servers;

/// Instances and servers.
#[derive(Debug)]
pub struct Fleet {
    instances: Vec<Instance>,
    settings: Settings,
    servers: Servers,
    folder: Folder,
}

impl Fleet {
    /// A fleet without instances.
    ///
    /// # Errors
    /// If there is no folder for its files.
    pub fn new(settings: Settings, servers: Servers) -> Result<Self> {
        Ok(Fleet { instances: Vec::new(), settings, servers, folder: Folder::new("chaos")? })
    }

    /// Starts more instances, or asks the last ones to end, until there are this many: as a StatefulSet does.
    ///
    /// # Errors
    /// If one does not start, or does not end.
    pub async fn scale(&mut self, count: usize) -> Result<()> {
        while self.instances.len() < count {
            self.add(&instance_name(self.instances.len())).await?;
        }
        while self.instances.len() > count {
            let Some(mut last) = self.instances.pop() else { break };
            last.terminate().await?;
        }
        Ok(())
    }

    /// Starts one more instance, with a name that another one may have.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn add(&mut self, name: &str) -> Result<()> {
        let place = self.folder.path().join(self.instances.len().to_string());
        std::fs::create_dir_all(&place).context("cannot make a folder for an instance")?;
        let mut instance = Instance::new(name, &self.settings, &self.servers, &place).await?;
        instance.start()?;
        self.instances.push(instance);
        Ok(())
    }

    /// Its instances.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Its servers.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Fails if a process has ended by itself.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        self.instances.iter_mut().try_for_each(Instance::check)
    }

    /// Lets a fault begin.
    ///
    /// # Errors
    /// If that cannot be done.
    pub async fn begin(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(instance) => self.instance(instance)?.kill(),
            Fault::Terminate(instance) => self.instance(instance)?.terminate().await,
            Fault::Pause(instance) => self.instance(instance)?.pause(),
            Fault::Partition(instance, silence) => {
                self.instance(instance)?.partition(silence);
                Ok(())
            }
            Fault::LoseRegistry(instance) => {
                self.instance(instance)?.lose_registry(Silence::Silent);
                Ok(())
            }
            Fault::JumpClock(instance, direction) => self.instance(instance)?.set_clock(Some(direction)),
            Fault::RestartServer => self.servers.kill_api(),
            Fault::RestartRegistry => self.servers.kill_registry(),
        }
        .with_context(|| format!("cannot make a {fault}"))
    }

    /// Ends a fault.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn end(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill(instance) | Fault::Terminate(instance) => self.instance(instance)?.start(),
            Fault::Pause(instance) => self.instance(instance)?.resume(),
            Fault::Partition(instance, _) | Fault::LoseRegistry(instance) => {
                self.instance(instance)?.heal();
                Ok(())
            }
            Fault::JumpClock(instance, _) => self.instance(instance)?.set_clock(None),
            Fault::RestartServer => block_in_place(|| self.servers.start_api()),
            Fault::RestartRegistry => block_in_place(|| self.servers.start_registry()),
        }
        .with_context(|| format!("cannot end a {fault}"))
    }

    /// One of its instances.
    ///
    /// # Errors
    /// If there is none of this number.
    pub fn instance(&mut self, instance: usize) -> Result<&mut Instance> {
        self.instances.get_mut(instance).with_context(|| format!("there is no {}", instance_name(instance)))
    }

    /// What its instances have said.
    pub fn logs(&self) -> String {
        self.instances.iter().map(Instance::log).collect()
    }

    /// Ends it, and leaves the logs of its instances where they are.
    pub fn keep_logs(self) -> std::path::PathBuf {
        self.folder.keep()
    }
}

/// What a fault hits, for the auditor.
pub fn hit(fault: Fault) -> Hit {
    fault.instance().map_or(Hit::Server, |instance| Hit::Instance(instance_name(instance)))
}
