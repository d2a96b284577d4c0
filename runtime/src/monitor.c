// SPDX-License-Identifier: MIT
/*
 * Watching devices: holders, cores, events.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

_Static_assert(NEURON_EVENT_RESET == 1ull << TRAINIUM_EVENT_RESET, "event types");
_Static_assert(NEURON_EVENT_GONE == 1ull << TRAINIUM_EVENT_GONE, "event types");
_Static_assert(NEURON_EVENT_ECC == 1ull << TRAINIUM_EVENT_ECC, "event types");
_Static_assert(NEURON_EVENT_HEALTH == 1ull << TRAINIUM_EVENT_HEALTH, "event types");
_Static_assert(NEURON_EVENT_THERMAL == 1ull << TRAINIUM_EVENT_THERMAL, "event types");
_Static_assert(NEURON_EVENT_FAULT == 1ull << TRAINIUM_EVENT_FAULT, "event types");
_Static_assert(NEURON_EVENT_PORT == 1ull << TRAINIUM_EVENT_PORT, "event types");
_Static_assert(NEURON_EVENT_PARTITION == 1ull << TRAINIUM_EVENT_PARTITION, "event types");
_Static_assert(NEURON_EVENT_GROUP == 1ull << TRAINIUM_EVENT_GROUP, "event types");
_Static_assert(NEURON_EVENT_COUNTER == 1ull << TRAINIUM_EVENT_COUNTER, "event types");

/* Sizes of the structures in their first version */
#define HOLDER_MIN	NRN_SIZE_UPTO(struct neuron_holder, rings)
#define CORE_MIN	NRN_SIZE_UPTO(struct neuron_core_info, idle)
#define EVENT_MIN	NRN_SIZE_UPTO(struct neuron_event, data)

struct neuron_events {
	int fd;
	char label[NEURON_NAME_SIZE];
};

int neuron_device_next_holder(struct neuron_device *device, uint32_t from,
			      struct neuron_holder *holder)
{
	struct drm_trainium_query_holder q = { 0 };
	struct neuron_holder full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_device_query(device, TRAINIUM_QUERY_HOLDER, from, &q, sizeof(q));
	if (ret == -ENOENT)
		return nrn_fail(ret, "%s: no open file from number %u on", device->label, from);
	if (ret == -EINVAL)
		return nrn_fail(-EOPNOTSUPP, "%s: the driver is too old to tell who holds it",
				device->label);
	if (ret)
		return nrn_device_fail(device, ret, "query of a holder");
	full.id = q.id;
	full.self = !!(q.flags & TRAINIUM_HOLDER_SELF);
	full.pid = q.pid;
	full.uid = q.uid;
	full.others = q.others;
	snprintf(full.command, sizeof(full.command), "%.*s", (int)sizeof(q.comm), q.comm);
	full.since_ns = q.since_ns;
	full.hbm_bytes = q.hbm_bytes;
	full.host_bytes = q.host_bytes;
	full.queues = q.num_queues;
	full.rings = q.num_rings;
	return nrn_copy_out(holder, &full, sizeof(full), HOLDER_MIN, "neuron_holder");
}

int neuron_device_get_core(struct neuron_device *device, uint32_t core,
			   struct neuron_core_info *info)
{
	struct drm_trainium_query_core q = { 0 };
	struct neuron_core_info full = { 0 };
	int ret;

	if (!device)
		return nrn_fail(-EINVAL, "%s: no device (NULL)", __func__);
	ret = nrn_device_query(device, TRAINIUM_QUERY_CORE, core, &q, sizeof(q));
	if (ret == -EINVAL)
		return nrn_fail(ret, "%s: core %u does not exist, or the driver is too old",
				device->label, core);
	if (ret)
		return nrn_device_fail(device, ret, "query of a core");
	memcpy(full.matmul, q.matmul, sizeof(full.matmul));
	memcpy(full.weight_load, q.weight_load, sizeof(full.weight_load));
	memcpy(full.fast_weight_load, q.fast_weight_load, sizeof(full.fast_weight_load));
	memcpy(full.idle, q.idle, sizeof(full.idle));
	return nrn_copy_out(info, &full, sizeof(full), CORE_MIN, "neuron_core_info");
}

static int subscribe(struct neuron_device *device, uint64_t types, int *fd)
{
	struct drm_trainium_query_device info = { 0 };
	struct drm_trainium_events request = {
		.types = types,
		.flags = TRAINIUM_EVENTS_NONBLOCK,
		.record_size = sizeof(struct drm_trainium_event),
	};
	int ret;

	ret = nrn_device_query(device, TRAINIUM_QUERY_DEVICE, 0, &info, sizeof(info));
	if (ret)
		return nrn_device_fail(device, ret, "query of the device");
	if (!(info.features & TRAINIUM_FEATURE_EVENTS))
		return nrn_fail(-EOPNOTSUPP, "%s: the driver has no events", device->label);
	if (types == NEURON_EVENT_ALL)
		request.types = info.event_types;
	ret = nrn_backend->ioctl(device->fd, DRM_IOCTL_TRAINIUM_EVENTS, &request);
	if (ret == -EINVAL)
		return nrn_fail(ret, "%s: the driver has events 0x%llx, not 0x%llx", device->label,
				(unsigned long long)info.event_types, (unsigned long long)types);
	if (ret)
		return nrn_device_fail(device, ret, "subscription");
	*fd = request.fd;
	return 0;
}

int neuron_events_open(struct neuron_device *device, uint64_t types, struct neuron_events **events)
{
	struct neuron_events *e;
	int ret;

	if (!device || !events)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the subscription" : "device");
	e = calloc(1, sizeof(*e));
	if (!e)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	memcpy(e->label, device->label, sizeof(e->label));
	ret = subscribe(device, types, &e->fd);
	if (ret) {
		free(e);
		return ret;
	}
	*events = e;
	return 0;
}

void neuron_events_close(struct neuron_events *events)
{
	if (!events)
		return;
	close(events->fd);
	free(events);
}

int neuron_events_get_fd(const struct neuron_events *events)
{
	if (!events)
		return nrn_fail(-EINVAL, "%s: no subscription (NULL)", __func__);
	return events->fd;
}

/* Waits until there is something to read, or nothing will come. */
static int wait_for_event(struct neuron_events *events, int64_t deadline)
{
	struct pollfd p = { .fd = events->fd, .events = POLLIN };
	int64_t left;
	int ms, ret;

	for (;;) {
		ms = -1;
		if (deadline != NEURON_WAIT_FOREVER) {
			left = deadline - nrn_backend->now();
			if (left < 0)
				left = 0;
			/* Rounded up, and again if that was not all of it */
			ms = left > 1000000000000 ? 1000000 : (int)((left + 999999) / 1000000);
		}
		ret = poll(&p, 1, ms);
		if (ret > 0)
			return 0;
		if (ret < 0 && errno != EINTR)
			return nrn_fail(-errno, "%s: waiting for events failed: %s", events->label,
					strerror(errno));
		if (deadline != NEURON_WAIT_FOREVER && nrn_backend->now() >= deadline)
			return nrn_fail(-ETIME, "%s: no event", events->label);
	}
}

int neuron_events_read(struct neuron_events *events, struct neuron_event *event,
		       int64_t timeout_ns)
{
	int64_t deadline = nrn_deadline_after(timeout_ns);
	struct drm_trainium_event record;
	struct neuron_event full = { 0 };
	ssize_t n;
	int ret;

	if (!events)
		return nrn_fail(-EINVAL, "%s: no subscription (NULL)", __func__);
	/* Before a record is taken that could not be given to the caller */
	ret = nrn_copy_out(event, &full, sizeof(full), EVENT_MIN, "neuron_event");
	if (ret)
		return ret;
	do {
		n = read(events->fd, &record, sizeof(record));
		if (n < 0 && errno == EAGAIN) {
			ret = wait_for_event(events, deadline);
			if (ret)
				return ret;
		}
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n != (ssize_t)sizeof(record))
		return nrn_fail(-ENODEV, "%s: the device is gone (events)", events->label);
	full.type = 1ull << (record.type & 63);
	full.seqno = record.seqno;
	full.time_ns = record.time_ns;
	full.lost = record.lost;
	memcpy(full.data, record.data, sizeof(full.data));
	/* The size that the caller has set was replaced above by what was filled. */
	return nrn_copy_out(event, &full, sizeof(full), EVENT_MIN, "neuron_event");
}
