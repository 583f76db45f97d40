//! What is known before a matrix is.

use super::{Choice, Selection, choose_with};
use crate::device::Device;
use crate::error::Error;
use crate::select::analysis::Analysis;
use crate::select::calibration::Calibration;
use crate::select::machine::Machine;
use crate::select::store::{Outcomes, Remembered, Store};

/// A device, and the contents of the user's files.
pub(in crate::select) struct Known<'d> {
    device: &'d Device,
    calibration: Calibration,
    remembered: Remembered,
    notes: Vec<String>,
}

impl<'d> Known<'d> {
    /// Reads the files of the selection's store.
    pub fn new(device: &'d Device, selection: &Selection) -> Self {
        let mut notes = Vec::new();
        let calibration = selection.store.as_ref().map(|store| store.calibration(device));
        let calibration = note(&mut notes, calibration).flatten().unwrap_or_else(|| Calibration::shipped(device));
        let remembered = note(&mut notes, selection.store.as_ref().map(Store::remembered)).unwrap_or_default();
        Self { device, calibration, remembered, notes }
    }

    /// [`choose`](super::choose) with what is known.
    pub fn choose(&self, analysis: &Analysis, selection: &Selection) -> Result<Choice, Error> {
        let machine = Machine::from(self.device);
        let mut choice = choose_with(analysis, &machine, &self.calibration, &Outcomes::new(), selection)?;
        // Outcomes are stored per type of the values, which follows from the prediction.
        let measured = self.remembered.outcomes(analysis, self.device, choice.narrow_type());
        if !measured.is_empty() {
            choice = choose_with(analysis, &machine, &self.calibration, &measured, selection)?;
        }
        choice.note = (!self.notes.is_empty()).then(|| self.notes.join("; "));
        Ok(choice)
    }
}

fn note<R>(notes: &mut Vec<String>, read: Option<Result<R, Error>>) -> Option<R> {
    read?.map_err(|error| notes.push(error.to_string())).ok()
}
