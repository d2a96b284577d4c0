/* SPDX-License-Identifier: MIT */
/*
 * Watching devices: who holds them, how busy their cores are, and events.
 */
#ifndef NEURON_MONITOR_H
#define NEURON_MONITOR_H

#include <stdint.h>

#include <neuron/device.h>
#include <neuron/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct neuron_holder - an open file of a device
 */
struct neuron_holder {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @id: number of the open file */
	uint32_t id;
	/** @self: not 0 if it is the caller's own @device */
	uint32_t self;
	/** @pid: process, in the caller's PID namespace; 0 if it is not in it or has ended */
	int32_t pid;
	/** @uid: user, in the caller's user namespace */
	uint32_t uid;
	/** @others: open files that the caller may not see */
	uint32_t others;
	/** @command: name of the process; empty if @pid is 0 */
	char command[NEURON_NAME_SIZE];
	/** @since_ns: when the file was opened, CLOCK_MONOTONIC */
	int64_t since_ns;
	/** @hbm_bytes: device memory */
	uint64_t hbm_bytes;
	/** @host_bytes: host memory */
	uint64_t host_bytes;
	/** @queues: queues */
	uint32_t queues;
	/** @rings: hardware rings */
	uint32_t rings;
};

/**
 * neuron_device_next_holder() - the next open file of a device
 * @device: device
 * @from: the lowest id that is wanted: 0, then the last one's id plus one
 * @holder: out; the caller sets holder->size
 *
 * A caller with CAP_SYS_ADMIN sees all; others see those of their own user in
 * their PID namespace.
 *
 * Return: 0; -ENOENT there is no other; -EINVAL holder->size is too small;
 * -EOPNOTSUPP the driver is older; -ENODEV.
 */
NEURON_API int neuron_device_next_holder(struct neuron_device *device, uint32_t from,
					 struct neuron_holder *holder);

/**
 * struct neuron_core_info - activity of a core's tensor engine
 *
 * Counters of its four row groups, in cycles since the core's reset.
 */
struct neuron_core_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @pad: zero */
	uint32_t pad;
	/** @matmul: multiplying */
	uint64_t matmul[4];
	/** @weight_load: loading weights */
	uint64_t weight_load[4];
	/** @fast_weight_load: loading weights the fast way */
	uint64_t fast_weight_load[4];
	/** @idle: doing nothing */
	uint64_t idle[4];
};

/**
 * neuron_device_get_core() - activity of a core
 * @device: device
 * @core: number, below num_cores of the device
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL no such core, info->size is too small, or the driver is
 * older; -ENODEV.
 */
NEURON_API int neuron_device_get_core(struct neuron_device *device, uint32_t core,
				      struct neuron_core_info *info);

/** Types of events, bits of neuron_events_open() */
#define NEURON_EVENT_RESET	(1ull << 0)	/* a reset, or a step of recovery */
#define NEURON_EVENT_GONE	(1ull << 1)	/* the device was removed */
#define NEURON_EVENT_ECC	(1ull << 2)	/* memory errors */
#define NEURON_EVENT_HEALTH	(1ull << 3)	/* health bits */
#define NEURON_EVENT_THERMAL	(1ull << 4)	/* throttling and temperatures */
#define NEURON_EVENT_FAULT	(1ull << 5)	/* a DMA engine failed a job */
#define NEURON_EVENT_PORT	(1ull << 6)	/* a fabric port changed its state */
#define NEURON_EVENT_PARTITION	(1ull << 7)	/* the chip's partition changed */
#define NEURON_EVENT_GROUP	(1ull << 8)	/* a group of the chip has broken */
#define NEURON_EVENT_COUNTER	(1ull << 9)	/* a counter reached its threshold */
/** All that the driver has */
#define NEURON_EVENT_ALL	(~0ull)

/** struct neuron_events - a subscription; opaque */
struct neuron_events;

/**
 * struct neuron_event - something that has happened
 */
struct neuron_event {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @pad: zero */
	uint32_t pad;
	/** @type: one of NEURON_EVENT_* */
	uint64_t type;
	/** @seqno: number of the event on this device, from 1 */
	uint64_t seqno;
	/** @time_ns: when, CLOCK_MONOTONIC */
	int64_t time_ns;
	/** @lost: events before this one that were lost because they were not read */
	uint64_t lost;
	/** @data: by type, as in drm/trainium_accel.h: struct drm_trainium_event_reset, ... */
	uint64_t data[4];
};

/**
 * neuron_events_open() - subscribe to what happens from now on
 * @device: device; it may be closed before the subscription
 * @types: NEURON_EVENT_* or NEURON_EVENT_ALL
 * @events: out: the subscription
 *
 * Return: 0; -EINVAL a type that the driver has not; -EDQUOT too many
 * subscriptions; -EOPNOTSUPP the driver is older; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_events_open(struct neuron_device *device, uint64_t types,
				  struct neuron_events **events);

/**
 * neuron_events_close() - end a subscription
 * @events: subscription, or NULL
 */
NEURON_API void neuron_events_close(struct neuron_events *events);

/**
 * neuron_events_get_fd() - descriptor to poll() for POLLIN
 * @events: subscription
 *
 * Return: the descriptor, which still belongs to @events; -EINVAL for NULL.
 */
NEURON_API int neuron_events_get_fd(const struct neuron_events *events);

/**
 * neuron_events_read() - the next event
 * @events: subscription
 * @event: out; the caller sets event->size
 * @timeout_ns: longest time to wait, 0 not at all, NEURON_WAIT_FOREVER
 *
 * Return: 0; -ETIME none has come; -EINVAL event->size is too small; -ENODEV
 * the device was removed and all its events are read.
 */
NEURON_API int neuron_events_read(struct neuron_events *events, struct neuron_event *event,
				  int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
