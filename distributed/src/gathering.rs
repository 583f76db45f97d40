//! Gathering of all ranks' contributions on all ranks, by messages.

use host::memory::{copy, with_capacity};

use crate::error::Error;

/// The messages of a rank for one gathering.
pub(crate) trait Post {
    /// This rank, and the number of ranks.
    fn place(&self) -> (usize, usize);

    fn send(&self, to: usize, contents: &[u8]) -> Result<(), Error>;

    fn receive(&self, from: usize) -> Result<Vec<u8>, Error>;
}

/// Returns each rank's contribution, in rank order (Bruck et al. 1997): each step doubles the number of consecutive ranks,
/// starting with this one, whose parts it has.
pub(crate) fn gathered(call: &impl Post, own: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let (rank, ranks) = call.place();
    let mut parts = with_capacity(ranks)?;
    parts.push(copy(own)?);
    while parts.len() < ranks {
        let step = parts.len();
        let more = step.min(ranks - step);
        call.send((rank + ranks - step) % ranks, &framed(&parts[..more])?)?;
        let message = call.receive((rank + step) % ranks)?;
        for number in 0..more {
            parts.push(copy(frame(&message, number).unwrap_or_default())?);
        }
    }
    parts.rotate_right(rank);
    Ok(parts)
}

/// Encodes parts as one message: their number and ends, followed by their contents.
fn framed(parts: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let mut message = with_capacity(8 + parts.iter().map(|part| part.len() + 8).sum::<usize>())?;
    message.extend_from_slice(&(parts.len() as u64).to_le_bytes());
    let mut end = 0u64;
    for part in parts {
        end += part.len() as u64;
        message.extend_from_slice(&end.to_le_bytes());
    }
    parts.iter().for_each(|part| message.extend_from_slice(part));
    Ok(message)
}

/// Returns a part of a message encoded by [`framed`].
fn frame(message: &[u8], number: usize) -> Option<&[u8]> {
    let word = |place: usize| {
        let word = message.get(8 * place..8 * place + 8)?.try_into().ok().map(u64::from_le_bytes)?;
        usize::try_from(word).ok()
    };
    let begin = if number == 0 { 0 } else { word(number)? };
    let contents = message.get(8 * (word(0)? + 1)..)?;
    contents.get(begin..word(number + 1)?)
}
