// SPDX-License-Identifier: MIT
/*
 * neuron-fabric: events of ports, partitions, groups and counters, as they come.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/trainium_accel.h>

#include "fabric.h"

#define TYPES (NEURON_EVENT_PORT | NEURON_EVENT_PARTITION | NEURON_EVENT_GROUP | \
	       NEURON_EVENT_COUNTER | NEURON_EVENT_GONE)

static struct json_object *describe(const struct chip *chip, const struct neuron_event *event,
				    char *text, size_t size)
{
	struct json_object *row = json_object_new_object();
	struct drm_trainium_event e;

	/* The payload is as the uapi has it. */
	memcpy(e.data, event->data, sizeof(e.data));
	json_uint(row, "neuron_device", chip->entry.index);
	json_uint(row, "seqno", event->seqno);
	json_int(row, "time_ns", event->time_ns);
	json_uint(row, "lost", event->lost);
	if (event->type == NEURON_EVENT_PORT) {
		json_string(row, "type", "port");
		json_uint(row, "port", e.port.port);
		json_string(row, "state", neuron_port_state_string(e.port.state));
		json_string(row, "before", neuron_port_state_string(e.port.before));
		json_string(row, "reason", neuron_port_reason_string(e.port.reason));
		json_uint(row, "lanes", e.port.lanes);
		snprintf(text, size, "port %u %s, was %s (%s), %u lanes", e.port.port,
			 neuron_port_state_string(e.port.state),
			 neuron_port_state_string(e.port.before),
			 neuron_port_reason_string(e.port.reason), e.port.lanes);
	} else if (event->type == NEURON_EVENT_PARTITION) {
		json_string(row, "type", "partition");
		json_uint(row, "partition", e.partition.partition);
		snprintf(text, size, "partition %u", e.partition.partition);
	} else if (event->type == NEURON_EVENT_GROUP) {
		json_string(row, "type", "group");
		json_uint(row, "group", e.group.group);
		snprintf(text, size, "group %u is broken", e.group.group);
	} else if (event->type == NEURON_EVENT_COUNTER) {
		json_string(row, "type", "counter");
		json_uint(row, "port", e.counter.port);
		json_uint(row, "counter", e.counter.counter);
		json_uint(row, "value", e.counter.value);
		json_uint(row, "threshold", e.counter.threshold);
		snprintf(text, size, "port %u counter %u is %" PRIu64 ", threshold %" PRIu64,
			 e.counter.port, e.counter.counter, (uint64_t)e.counter.value,
			 (uint64_t)e.counter.threshold);
	} else {
		json_string(row, "type", "gone");
		snprintf(text, size, "the device was removed");
	}
	return row;
}

static void print_event(const struct call *call, const struct chip *chip,
			const struct neuron_event *event)
{
	char text[160];
	struct json_object *row = describe(chip, event, text, sizeof(text));

	if (call->json) {
		json_print_line(row);
		return;
	}
	if (event->lost)
		printf("device %u: %" PRIu64 " events were lost\n", chip->entry.index, event->lost);
	printf("%" PRId64 ".%06" PRId64 " device %u: %s\n", event->time_ns / 1000000000,
	       event->time_ns / 1000 % 1000000, chip->entry.index, text);
	fflush(stdout);
	json_object_put(row);
}

int show_events(const struct call *call)
{
	struct neuron_events **events = calloc(call->num_chips, sizeof(struct neuron_events *));
	struct pollfd *fds = calloc(call->num_chips, sizeof(*fds));
	int64_t end = call->timeout_ns < 0 ? INT64_MAX : tool_now() + call->timeout_ns, left;
	unsigned int i, open = call->num_chips;
	uint64_t seen = 0;
	int ret;

	if (!events || !fds)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < call->num_chips; i++) {
		if (neuron_events_open(call->chips[i].device, TYPES, &events[i]))
			tool_die(TOOL_FAILED, "%s", neuron_last_error());
		fds[i].fd = neuron_events_get_fd(events[i]);
		fds[i].events = POLLIN;
	}
	while (open && (!call->count || seen < call->count)) {
		left = end == INT64_MAX ? -1 : (end - tool_now() + 999999) / 1000000;
		if (end != INT64_MAX && left <= 0)
			break;
		if (poll(fds, call->num_chips, (int)left) < 0 && errno != EINTR)
			tool_die(TOOL_FAILED, "poll: %s", strerror(errno));
		for (i = 0; i < call->num_chips && (!call->count || seen < call->count); i++) {
			struct neuron_event event = { .size = sizeof(event) };

			if (!fds[i].revents)
				continue;
			ret = neuron_events_read(events[i], &event, 0);
			if (!ret) {
				print_event(call, &call->chips[i], &event);
				seen++;
			} else if (ret != -ETIME) {
				tool_warn("%s", neuron_last_error());
				fds[i].fd = -1;
				open--;
			}
		}
	}
	for (i = 0; i < call->num_chips; i++)
		neuron_events_close(events[i]);
	free(events);
	free(fds);
	return open ? TOOL_OK : TOOL_FAILED;
}
