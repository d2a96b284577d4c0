/* SPDX-License-Identifier: MIT */
/*
 * What the parts of neuron-fabric share.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <stdbool.h>

#include <json-c/json.h>

#include "json.h"
#include "tool.h"

/**
 * struct chip - a device with a fabric
 */
struct chip {
	struct neuron_device_entry entry;
	struct neuron_device *device;
	struct neuron_fabric_info info;
};

/**
 * struct call - the command line
 */
struct call {
	struct chip *chips;
	unsigned int num_chips;
	/** @json: JSON instead of text */
	bool json;
	bool force, test, all;
	/** @count: of events, 0: no limit */
	uint64_t count;
	/** @timeout_ns: for a port to come to rest, or for events */
	int64_t timeout_ns;
	/** @name: of the command; @args: what follows it */
	const char *name;
	char *const *args;
	unsigned int num_args;
};

/* Number below @limit, or a message and exit(TOOL_USAGE). */
uint32_t parse_number(const char *text, const char *what, uint64_t limit);
struct neuron_port_info read_port(const struct chip *chip, uint32_t port);
/* neuron_fabric_get_path(); ends the program when it fails. */
struct neuron_path_info read_path(const struct chip *chip, uint32_t peer, uint32_t flags);

/* Commands; they return an exit status. */
int show_status(const struct call *call);
int show_ports(const struct call *call);
int show_counters(const struct call *call);
int show_errors(const struct call *call);
int show_path(const struct call *call);
int show_peers(const struct call *call);
int show_groups(const struct call *call);
int show_partitions(const struct call *call);
int show_events(const struct call *call);
int control_ports(const struct call *call);
int control_cap(const struct call *call);
int control_loopback(const struct call *call);
int control_clear(const struct call *call);

#endif
