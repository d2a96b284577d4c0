/* SPDX-License-Identifier: MIT */
/*
 * Fences: the end of work that was submitted to a queue.
 */
#ifndef NEURON_FENCE_H
#define NEURON_FENCE_H

#include <stdint.h>

#include <neuron/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_fence - the end of some work; opaque */
struct neuron_fence;

/** Wait without limit. Work itself is limited by the driver, see job_timeout_ns. */
#define NEURON_WAIT_FOREVER	INT64_MAX

/**
 * neuron_fence_wait() - wait for the end of the work
 * @fence: fence
 * @timeout_ns: time from now; 0 looks without waiting; NEURON_WAIT_FOREVER
 *
 * Return: 0 the work has ended well; -ETIME it has not ended yet; -EIO it
 * failed; -ECANCELED it was lost to a reset; -ENODEV.
 */
NEURON_API int neuron_fence_wait(struct neuron_fence *fence, int64_t timeout_ns);

/**
 * neuron_fence_wait_until() - wait for the end of the work
 * @fence: fence
 * @deadline_ns: time of CLOCK_MONOTONIC; one that has passed looks without
 *	waiting; NEURON_WAIT_FOREVER
 *
 * Return: as neuron_fence_wait().
 */
NEURON_API int neuron_fence_wait_until(struct neuron_fence *fence, int64_t deadline_ns);

/**
 * neuron_fence_test() - has the work ended?
 * @fence: fence
 *
 * Unlike neuron_fence_wait() with a time of 0, work that goes on is no error.
 *
 * Return: 1 it has ended well; 0 not yet; negative as neuron_fence_wait().
 */
NEURON_API int neuron_fence_test(struct neuron_fence *fence);

/**
 * neuron_fence_destroy() - give a fence back
 * @fence: fence, or NULL
 *
 * The work is not touched by it.
 */
NEURON_API void neuron_fence_destroy(struct neuron_fence *fence);

/**
 * neuron_fence_export_sync_file() - the fence as a sync_file
 * @fence: fence
 * @fd: out: descriptor that becomes readable when the work has ended; the
 *	caller closes it
 *
 * For poll() and epoll, for other drivers, for other processes.
 *
 * Return: 0; -EMFILE; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_fence_export_sync_file(struct neuron_fence *fence, int *fd);

/**
 * neuron_fence_export_syncobj() - the fence as a DRM syncobj
 * @fence: fence
 * @fd: out: descriptor of a binary syncobj; the caller closes it
 *
 * Return: 0; -EMFILE; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_fence_export_syncobj(struct neuron_fence *fence, int *fd);

/**
 * neuron_fence_import_sync_file() - a fence from a sync_file
 * @device: device whose queues are to wait for it
 * @fd: sync_file of whatever origin; stays with the caller
 * @fence: out: the fence
 *
 * Return: 0; -EINVAL @fd is no sync_file; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_fence_import_sync_file(struct neuron_device *device, int fd,
					     struct neuron_fence **fence);

#ifdef __cplusplus
}
#endif

#endif
