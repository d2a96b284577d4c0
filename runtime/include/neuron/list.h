/* SPDX-License-Identifier: MIT */
/*
 * Command lists: work that is prepared once and started many times. Since 0.2.
 */
#ifndef NEURON_LIST_H
#define NEURON_LIST_H

#include <stdint.h>

#include <neuron/device.h>
#include <neuron/fence.h>
#include <neuron/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_list - a command list; opaque */
struct neuron_list;

/**
 * neuron_list_create() - prepare work
 * @device: device
 * @stack: prefer an engine near this HBM stack, or NEURON_STACK_ANY
 * @ops: ops; the array may be reused when the call has returned
 * @op_count: number of ops, not 0
 * @list: out: the list
 *
 * A list has a DMA engine's ring of its own. Its runs follow each other; they
 * are not ordered with queues and other lists: use fences. It is of no more use
 * when one of its buffers is destroyed.
 *
 * Return: 0; -EINVAL malformed, or longer than the limits of the device;
 * -EXDEV a buffer is of another device; -EOPNOTSUPP the driver has no lists, or
 * a buffer cannot be in one; -ENOSPC no hardware rings are left; -EDQUOT a
 * limit of the open device; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_list_create(struct neuron_device *device, uint32_t stack,
				  const struct neuron_op *ops, uint32_t op_count,
				  struct neuron_list **list);

/**
 * neuron_list_create_user() - create a list of the user class
 * @device: device
 * @stack: prefer an engine near this HBM stack, or NEURON_STACK_ANY
 * @ops: ops, NEURON_OP_WAIT among them; the array may be reused at once
 * @op_count: number of ops, not 0
 * @list: out: the list
 *
 * As neuron_list_create(), but the end of a start is a number, not a fence:
 * neuron_list_post(), and neuron_queue_wait_for() on neuron_list_get_queue().
 *
 * Return: as neuron_list_create().
 */
NEURON_API int neuron_list_create_user(struct neuron_device *device, uint32_t stack,
				       const struct neuron_op *ops, uint32_t op_count,
				       struct neuron_list **list);

/**
 * neuron_list_post() - start a list of the user class
 * @list: list
 * @seqno: out: number of this start, from 1; NULL if not wanted
 *
 * Return: 0; -EINVAL; -ENOENT a buffer of it is gone; -EIO, -ECANCELED an
 * earlier start was lost; -ENODEV.
 */
NEURON_API int neuron_list_post(struct neuron_list *list, uint64_t *seqno);

/**
 * neuron_list_get_queue() - a list as the queue that it is
 * @list: list, or NULL
 *
 * Return: the queue, for the calls that wait for it or ask of it; not to be
 * destroyed. NULL without a list.
 */
NEURON_API struct neuron_queue *neuron_list_get_queue(struct neuron_list *list);

/**
 * neuron_list_get_descs() - how long a list is for the hardware
 * @list: list, or NULL
 *
 * Since 0.5.
 *
 * Return: descriptors that it takes, against max_list_descs of struct
 * neuron_limits; 0 without a list.
 */
NEURON_API uint32_t neuron_list_get_descs(const struct neuron_list *list);

/**
 * neuron_list_destroy() - give a list back
 * @list: list, or NULL
 *
 * Does not wait: what runs already ends as usual.
 */
NEURON_API void neuron_list_destroy(struct neuron_list *list);

/**
 * neuron_list_submit() - start the work and go on
 * @list: list
 * @fence: out: the end of the work; NULL if not wanted
 *
 * Return: 0; -ENOENT a buffer of the list is gone; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_list_submit(struct neuron_list *list, struct neuron_fence **fence);

/**
 * neuron_list_run() - start the work and wait for its end
 * @list: list
 * @timeout_ns: time from now; NEURON_WAIT_FOREVER
 *
 * Return: as neuron_list_submit(); -ETIME the time has passed, and the work
 * goes on (see neuron_list_drain()); -EIO it failed; -ECANCELED it was lost to
 * a reset.
 */
NEURON_API int neuron_list_run(struct neuron_list *list, int64_t timeout_ns);

/**
 * neuron_list_drain() - wait until all work started so far has ended
 * @list: list
 * @timeout_ns: time from now; 0 looks without waiting; NEURON_WAIT_FOREVER
 *
 * Return: as neuron_queue_drain().
 */
NEURON_API int neuron_list_drain(struct neuron_list *list, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
