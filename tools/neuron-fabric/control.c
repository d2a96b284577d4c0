// SPDX-License-Identifier: MIT
/*
 * neuron-fabric: control of ports. What would cut chips off is not done without
 * --force; the driver has the last word for peers that are in use.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

#define REST_NS 5000000000ll

static const struct verb {
	const char *name;
	enum neuron_port_op op;
	/** @done: what @name has done */
	const char *done;
	/** @cuts: traffic stops, for a time or for good */
	bool cuts;
} verbs[] = {
	{ "enable", NEURON_PORT_ENABLE, "enabled", false },
	{ "disable", NEURON_PORT_DISABLE, "disabled", true },
	{ "drain", NEURON_PORT_DRAIN, "drained", true },
	{ "train", NEURON_PORT_TRAIN, "trained", true },
	{ "reset", NEURON_PORT_RESET, "reset", true },
};

/* Bits of the ports that @text names. */
static uint64_t parse_ports(const struct chip *chip, const char *text)
{
	if (!strcmp(text, "all"))
		return chip->info.num_ports < 64 ? (1ull << chip->info.num_ports) - 1 : ~0ull;
	return 1ull << parse_number(text, "port", chip->info.num_ports);
}

static bool carries(const struct neuron_port_info *port)
{
	return port->admin == NEURON_PORT_ADMIN_ENABLED &&
	       (port->state == NEURON_PORT_UP || port->state == NEURON_PORT_DEGRADED);
}

/* Is the port already so that the verb has nothing to do? */
static bool is_done(const struct neuron_port_info *port, uint32_t op)
{
	switch (op) {
	case NEURON_PORT_ENABLE:
		return port->admin == NEURON_PORT_ADMIN_ENABLED;
	case NEURON_PORT_DISABLE:
		return port->admin == NEURON_PORT_ADMIN_DISABLED;
	case NEURON_PORT_DRAIN:
		return port->admin == NEURON_PORT_ADMIN_DRAINED;
	default:
		return false;
	}
}

static void warn_of_holders(const struct chip *chip)
{
	struct neuron_holder holder = { .size = sizeof(holder) };
	uint32_t from;

	for (from = 0; !neuron_device_next_holder(chip->device, from, &holder);
	     from = holder.id + 1) {
		tool_printable(holder.command);
		if (holder.pid && !holder.self && (holder.queues || holder.hbm_bytes))
			tool_warn("process %d (%s) uses device %u", holder.pid, holder.command,
				  chip->entry.index);
	}
}

/*
 * Says which chips are reached by @ports alone, and returns how many. While the
 * chip has other ports, a torus or switches may find them a longer way.
 */
static unsigned int would_cut(const struct chip *chip, uint64_t ports)
{
	bool last = !(chip->info.ports_up & ~ports);
	struct neuron_path_info path;
	unsigned int count = 0;
	uint32_t peer;

	for (peer = 0; peer < chip->info.num_chips; peer++) {
		if (peer == chip->info.chip)
			continue;
		path = read_path(chip, peer, 0);
		if (path.status != NEURON_PATH_OK && path.status != NEURON_PATH_UNTESTED)
			continue;
		if (!path.ports || path.ports & ~ports)
			continue;
		if (!count++)
			fprintf(stderr, "%s: device %u (chip %u) would %s chip", tool_name,
				chip->entry.index, chip->info.chip,
				last ? "be cut off from" : "need another way, if there is one, to");
		fprintf(stderr, "%s %u", count > 1 ? "," : "", peer);
	}
	if (count)
		fputc('\n', stderr);
	return count;
}

/* Ends the program when @ports carry the only way to other chips. */
static void guard(const struct call *call, uint64_t ports)
{
	const struct chip *chip = call->chips;
	struct neuron_port_info port;
	uint64_t busy = 0;
	uint32_t p;

	if (call->force)
		return;
	for (p = 0; p < chip->info.num_ports; p++) {
		if (!(ports & 1ull << p))
			continue;
		port = read_port(chip, p);
		if (carries(&port))
			busy |= 1ull << p;
	}
	if (!busy || !would_cut(chip, busy))
		return;
	warn_of_holders(chip);
	tool_die(TOOL_FAILED, "%s: nothing done; --force does it all the same", call->name);
}

/* One step, and a line or an object about it. */
static int act(const struct call *call, uint32_t p, uint32_t op, uint64_t value, const char *done,
	       bool skip, struct json_object *rows)
{
	const struct chip *chip = call->chips;
	struct neuron_port_info port;
	struct json_object *row;
	int status = TOOL_OK;
	int64_t timeout = call->timeout_ns < 0 ? REST_NS : call->timeout_ns;

	if (!skip && neuron_port_control(chip->device, p, op, value,
					 call->force ? NEURON_PORT_FORCE : 0, timeout, NULL)) {
		tool_warn("%s: %s", call->name, neuron_last_error());
		return TOOL_FAILED;
	}
	port = read_port(chip, p);
	if (port.state == NEURON_PORT_FAILED) {
		tool_warn("device %u port %u is failed: %s", chip->entry.index, p,
			  neuron_port_reason_string(port.reason));
		status = TOOL_FAILED;
	}
	if (call->json) {
		row = json_append(rows);
		json_uint(row, "neuron_device", chip->entry.index);
		json_uint(row, "port", p);
		json_string(row, "action", call->name);
		json_flag(row, "changed", !skip);
		json_string(row, "state", neuron_port_state_string(port.state));
		json_string(row, "reason", neuron_port_reason_string(port.reason));
	} else {
		printf("device %u port %u: %s%s, state %s\n", chip->entry.index, p,
		       skip ? "already " : "", done, neuron_port_state_string(port.state));
	}
	return status;
}

static int act_on(const struct call *call, uint64_t ports, uint32_t op, uint64_t value,
		  const char *done, struct json_object *rows)
{
	struct neuron_port_info port;
	int status = TOOL_OK;
	uint32_t p;

	for (p = 0; p < call->chips->info.num_ports; p++) {
		if (!(ports & 1ull << p))
			continue;
		port = read_port(call->chips, p);
		if (act(call, p, op, value, done, is_done(&port, op), rows))
			status = TOOL_FAILED;
	}
	return status;
}

static int finish(const struct call *call, struct json_object *rows, int status)
{
	if (call->json)
		json_print(rows);
	else
		json_object_put(rows);
	return status;
}

int control_ports(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	const struct verb *verb = verbs;
	uint64_t ports = 0;
	unsigned int i;

	while (strcmp(verb->name, call->name))
		verb++;
	for (i = 0; i < call->num_args; i++)
		ports |= parse_ports(call->chips, call->args[i]);
	if (verb->cuts)
		guard(call, ports);
	return finish(call, rows, act_on(call, ports, verb->op, 0, verb->done, rows));
}

int control_cap(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	uint64_t ports = parse_ports(call->chips, call->args[0]);
	int status = TOOL_OK;
	unsigned int i;
	char done[64];

	/* All is looked at before anything is done. */
	for (i = 1; i < call->num_args; i++) {
		if (strncmp(call->args[i], "lanes=", 6) && strncmp(call->args[i], "rate=", 5)) {
			tool_warn("cap: '%s' is neither lanes=N nor rate=MB/s", call->args[i]);
			tool_usage_error();
		}
		parse_number(strchr(call->args[i], '=') + 1, "cap", UINT32_MAX);
	}
	for (i = 1; i < call->num_args; i++) {
		snprintf(done, sizeof(done), "cap %.40s", call->args[i]);
		if (act_on(call, ports, call->args[i][0] == 'l' ? NEURON_PORT_LANE_CAP :
								  NEURON_PORT_RATE_CAP,
			   parse_number(strchr(call->args[i], '=') + 1, "cap", UINT32_MAX), done,
			   rows))
			status = TOOL_FAILED;
	}
	return finish(call, rows, status);
}

int control_loopback(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	uint64_t ports = parse_ports(call->chips, call->args[0]);
	bool on = !strcmp(call->args[1], "on");

	if (!on && strcmp(call->args[1], "off")) {
		tool_warn("loopback: '%s' is neither on nor off", call->args[1]);
		tool_usage_error();
	}
	if (on)
		guard(call, ports);
	return finish(call, rows, act_on(call, ports, NEURON_PORT_SET_LOOPBACK, on,
					 on ? "looped back" : "not looped back", rows));
}

int control_clear(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	uint64_t ports = parse_ports(call->chips, call->args[0]);
	bool latch = !strcmp(call->args[1], "latch");

	if (!latch && strcmp(call->args[1], "counters")) {
		tool_warn("clear: '%s' is neither counters nor latch", call->args[1]);
		tool_usage_error();
	}
	return finish(call, rows,
		      act_on(call, ports,
			     latch ? NEURON_PORT_CLEAR_LATCH : NEURON_PORT_CLEAR_COUNTERS, 0,
			     latch ? "latch cleared" : "counters cleared", rows));
}
