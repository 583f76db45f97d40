//! Code shared by executors whose arrays are in host memory.

/// The part of [`Executor`](super::Executor) that moves arrays, which costs nothing where arrays are vectors. The executor
/// is notified of each array that it receives or returns.
macro_rules! host_memory {
    () => {
        type Memory = $crate::memory::HostMemory;
        type Recording = ();

        fn upload<T: $crate::memory::Element>(&self, array: Vec<T>) -> Result<Vec<T>, $crate::error::Error> {
            self.hear_of(bytemuck::cast_slice(&array));
            Ok(array)
        }

        fn zeros<T: $crate::memory::Element>(&self, length: usize) -> Result<Vec<T>, $crate::error::Error> {
            self.upload($crate::memory::zeros(length)?)
        }

        fn download<T: $crate::memory::Element>(&self, array: &Vec<T>) -> Result<Vec<T>, $crate::error::Error> {
            self.upload($crate::memory::copy(array)?)
        }

        fn duplicate<T: $crate::memory::Element>(&self, array: &Vec<T>) -> Result<Vec<T>, $crate::error::Error> {
            self.upload($crate::memory::copy(array)?)
        }

        fn copy<T: $crate::memory::Element>(&self, from: &Vec<T>, to: &mut Vec<T>) -> Result<(), $crate::error::Error> {
            $crate::error::check_length("the array copied to", to.len(), from.len())?;
            to.copy_from_slice(from);
            self.hear_of(bytemuck::cast_slice(to));
            Ok(())
        }

        fn read_during<T: $crate::memory::Element>(
            &self,
            array: &Vec<T>,
            first: usize,
            to: &mut [T],
            work: &mut dyn FnMut() -> Result<(), $crate::error::Error>,
        ) -> Result<(), $crate::error::Error> {
            $crate::error::check_part(first, to.len(), array.len())?;
            to.copy_from_slice(&array[first..][..to.len()]);
            work()
        }

        fn write<T: $crate::memory::Element>(
            &self,
            from: &[T],
            array: &mut Vec<T>,
            first: usize,
        ) -> Result<(), $crate::error::Error> {
            $crate::error::check_part(first, from.len(), array.len())?;
            array[first..][..from.len()].copy_from_slice(from);
            self.hear_of(bytemuck::cast_slice(array));
            Ok(())
        }
    };
}
pub(super) use host_memory;
