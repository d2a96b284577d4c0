/* SPDX-License-Identifier: MIT */
/*
 * Errors. A function that fails returns a negative errno value with the same
 * meaning everywhere:
 *
 *  -EINVAL	malformed argument, or a range outside a buffer
 *  -ENOENT	no such device node, handle or fence
 *  -EACCES	no permission to open the device
 *  -EPERM	the call needs CAP_SYS_ADMIN
 *  -EFAULT	memory not accessible
 *  -ENOSPC	device memory (HBM) or hardware rings exhausted
 *  -ENOMEM	host memory exhausted, or RLIMIT_MEMLOCK
 *  -EDQUOT	a limit of the open file reached, see neuron_device_get_limits()
 *  -EIO	the queue's own work failed, see neuron_queue_get_info()
 *  -ECANCELED	the work was lost to a reset that somebody else caused
 *  -ETIME	the time given has passed
 *  -EBUSY	in use
 *  -EXDEV	objects of different devices in one call
 *  -EOPNOTSUPP	not offered by this device, driver or kernel
 *  -ENODEV	no such device, or it is gone
 */
#ifndef NEURON_ERROR_H
#define NEURON_ERROR_H

#include <neuron/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * neuron_strerror() - what an error value means for this library
 * @error: value returned by a function; the sign does not matter
 *
 * Return: a short text, never NULL, not to be freed.
 */
NEURON_API const char *neuron_strerror(int error);

/**
 * neuron_error_name() - symbol of an error value
 * @error: value returned by a function; the sign does not matter
 *
 * Return: for example "ENOSPC", "0" for 0, "E?" for one that the library
 * never returns; not to be freed.
 */
NEURON_API const char *neuron_error_name(int error);

/**
 * neuron_last_error() - one sentence on the newest failure in this thread
 *
 * It names the object and the limit that was passed, for example
 * "accel0: buffer 3 (1048576 bytes): offset 1048570 + size 16 is past its end".
 * To be read right after the call that failed: a later one may change it even
 * if it succeeds in the end.
 *
 * Return: the sentence, "" before any failure; not to be freed.
 */
NEURON_API const char *neuron_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
