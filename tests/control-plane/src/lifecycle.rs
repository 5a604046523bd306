//! Taking the control plane's components down and up again.

use std::fs;

use rustix::process::Signal;

use crate::component::Component;
use crate::control_plane::ControlPlane;
use crate::error::{Doing as _, Error};

impl ControlPlane {
    /// Asks a component to end, waits until it has, and kills it after two seconds. A client of a stopped
    /// API server is refused the connection; its port stays reserved.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn stop(&self, component: Component) -> Result<(), Error> {
        self.own("stopping a component")?.process(component).stop();
        Ok(())
    }

    /// Ends a component at once, as a crash would.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn kill(&self, component: Component) -> Result<(), Error> {
        self.own("killing a component")?.process(component).kill();
        Ok(())
    }

    /// Starts a stopped component with the same flags, port and data, and waits until it answers. One
    /// that runs is left as it is.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster; [`Error::Died`] or [`Error::NotInTime`] with its log.
    pub fn start_component(&self, component: Component) -> Result<(), Error> {
        self.own("starting a component")?.start(component, &self.kubectl)
    }

    /// [`stop`](Self::stop), then [`start_component`](Self::start_component).
    ///
    /// # Errors
    /// Theirs.
    pub fn restart(&self, component: Component) -> Result<(), Error> {
        self.stop(component)?;
        self.start_component(component)
    }

    /// Suspends a component: its connections stay open, and nothing is answered.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn pause(&self, component: Component) -> Result<(), Error> {
        self.own("pausing a component")?.signal(component, Signal::STOP);
        Ok(())
    }

    /// Lets a suspended component go on.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn resume(&self, component: Component) -> Result<(), Error> {
        self.own("resuming a component")?.signal(component, Signal::CONT);
        Ok(())
    }

    /// A component's process id while it runs.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn process_id(&self, component: Component) -> Result<Option<u32>, Error> {
        Ok(self.own("a component's process id")?.process(component).id())
    }

    /// A component's log so far.
    ///
    /// # Errors
    /// [`Error::NeedsOwn`] on an existing cluster.
    pub fn log(&self, component: Component) -> Result<String, Error> {
        let path = self.own("a component's log")?.process(component).log_path();
        let log = fs::read(&path).doing(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }
}
