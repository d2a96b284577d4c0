// SPDX-License-Identifier: MIT
/*
 * neuron-fabric: what is, as a table or as JSON.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fabric.h"
#include "view.h"

static const char *const port_kinds[] = { "-", "chip", "switch", "rack", "node" };
static const char *const port_admins[] = { "disabled", "enabled", "drained" };
static const char *const counter_keys[NEURON_PORT_NUM_COUNTERS] = {
	[NEURON_PORT_TX_BYTES] = "tx_bytes",
	[NEURON_PORT_RX_BYTES] = "rx_bytes",
	[NEURON_PORT_TX_PACKETS] = "tx_packets",
	[NEURON_PORT_RX_PACKETS] = "rx_packets",
	[NEURON_PORT_CRC_ERRORS] = "crc_errors",
	[NEURON_PORT_REPLAYS] = "replays",
	[NEURON_PORT_RECOVERIES] = "recoveries",
	[NEURON_PORT_LINK_DOWNS] = "link_downs",
	[NEURON_PORT_DISCARDS] = "discards",
	[NEURON_PORT_BLOCKED] = "blocked",
	[NEURON_PORT_MULTICASTS] = "multicasts",
	[NEURON_PORT_REDUCTIONS] = "reductions",
};

static const char *name_of(const char *const *names, size_t count, uint32_t value)
{
	return value < count ? names[value] : "unknown";
}

#define NAME_OF(names, value) name_of(names, sizeof(names) / sizeof(names[0]), value)

static struct json_object *new_row(struct json_object *rows, const struct chip *chip)
{
	struct json_object *row = json_append(rows);

	json_uint(row, "neuron_device", chip->entry.index);
	json_uint(row, "chip", chip->info.chip);
	return row;
}

static int show(const struct call *call, const struct view_column *columns,
		struct json_object *rows)
{
	if (call->json) {
		json_print(rows);
		return TOOL_OK;
	}
	view_table(columns, rows);
	json_object_put(rows);
	return TOOL_OK;
}

static void add_uuid(struct json_object *row, const struct chip *chip)
{
	const uint8_t *u = chip->info.uuid;
	char text[40];

	snprintf(text, sizeof(text),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
	json_string(row, "cluster_uuid", text);
}

/* A chip that may talk to nobody has no number of a partition. */
static void add_partition(struct json_object *row, const struct chip *chip)
{
	if (chip->info.partition != 0xffff)
		json_uint(row, "partition", chip->info.partition);
}

int show_status(const struct call *call)
{
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { "PCI BDF", "{bdf}" }, { ">CHIP", "{chip}" },
		{ "FABRIC", "{kind}" }, { "RACK/SERVER/POS", "{rack}/{server}/{position}" },
		{ ">PARTITION", "{partition}" },
		{ ">PORTS UP", "{num_ports_up}/{num_ports}" }, { ">REFUSED", "{errors}" },
		{ NULL, NULL },
	};
	struct json_object *rows = json_object_new_array(), *row;
	const struct chip *chip;
	unsigned int i;

	for (i = 0; i < call->num_chips; i++) {
		chip = &call->chips[i];
		row = new_row(rows, chip);
		json_string(row, "bdf", chip->entry.pci_address);
		json_string(row, "kind", neuron_fabric_kind_string(chip->info.kind));
		add_uuid(row, chip);
		json_uint(row, "num_chips", chip->info.num_chips);
		json_uint(row, "rack", chip->info.rack);
		json_uint(row, "server", chip->info.server);
		json_uint(row, "position", chip->info.position);
		add_partition(row, chip);
		json_uint(row, "partition_changes", chip->info.partition_changes);
		json_uint(row, "num_ports", chip->info.num_ports);
		json_uint(row, "num_ports_up",
			  (uint64_t)__builtin_popcountll(chip->info.ports_up));
		json_bits(row, "ports_up", chip->info.ports_up);
		json_uint(row, "errors", chip->info.errors);
	}
	return show(call, columns, rows);
}

static void add_end(struct json_object *row, const char *prefix, bool to_switch, uint32_t id,
		    uint32_t port)
{
	char key[32], text[48];

	snprintf(text, sizeof(text), "%s %u port %u", to_switch ? "switch" : "chip", id, port);
	json_string(row, prefix, text);
	snprintf(key, sizeof(key), "%s_id", prefix);
	json_uint(row, key, id);
	snprintf(key, sizeof(key), "%s_port", prefix);
	json_uint(row, key, port);
}

static void add_port(struct json_object *row, const struct neuron_port_info *port)
{
	json_string(row, "kind", NAME_OF(port_kinds, port->kind));
	json_string(row, "admin", NAME_OF(port_admins, port->admin));
	json_string(row, "state", neuron_port_state_string(port->state));
	if (port->reason)
		json_string(row, "reason", neuron_port_reason_string(port->reason));
	json_uint(row, "lanes", port->lanes);
	json_uint(row, "max_lanes", port->max_lanes);
	json_uint(row, "lane_rate", port->rate);
	json_uint(row, "max_lane_rate", port->max_rate);
	json_uint(row, "lane_cap", port->lane_cap);
	json_uint(row, "rate_cap", port->rate_cap);
	if (port->flags & NEURON_PORT_PEER)
		add_end(row, "peer", port->flags & NEURON_PORT_PEER_SWITCH, port->peer,
			port->peer_port);
	if (port->flags & NEURON_PORT_EXPECT)
		add_end(row, "expected", port->flags & NEURON_PORT_EXPECT_SWITCH, port->expect,
			port->expect_port);
	json_flag(row, "latched", port->flags & NEURON_PORT_LATCHED);
	json_flag(row, "loopback", port->flags & NEURON_PORT_LOOPBACK);
	json_uint(row, "attempts", port->attempts);
}

int show_ports(const struct call *call)
{
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { ">PORT", "{port}" }, { "TO", "{kind}" },
		{ "ADMIN", "{admin}" }, { "STATE", "{state}" }, { "REASON", "{reason}" },
		{ ">LANES", "{lanes}/{max_lanes}" }, { ">MB/s A LANE", "{lane_rate}" },
		{ "PEER", "{peer}" }, { "EXPECTED", "{expected}" }, { NULL, NULL },
	};
	struct json_object *rows = json_object_new_array(), *row;
	struct neuron_port_info port;
	unsigned int i;
	uint32_t p;

	for (i = 0; i < call->num_chips; i++) {
		for (p = 0; p < call->chips[i].info.num_ports; p++) {
			port = read_port(&call->chips[i], p);
			row = new_row(rows, &call->chips[i]);
			json_uint(row, "port", p);
			add_port(row, &port);
		}
	}
	return show(call, columns, rows);
}

static struct json_object *counter_rows(const struct call *call, unsigned int from,
					unsigned int to, bool zeroes, bool traffic)
{
	struct json_object *rows = json_object_new_array(), *row;
	struct neuron_port_info port;
	unsigned int i, c;
	uint64_t sum;
	uint32_t p;

	for (i = 0; i < call->num_chips; i++) {
		for (p = 0; p < call->chips[i].info.num_ports; p++) {
			port = read_port(&call->chips[i], p);
			for (sum = 0, c = from; c <= to; c++)
				sum |= port.counters[c];
			if (!zeroes && !sum)
				continue;
			row = new_row(rows, &call->chips[i]);
			json_uint(row, "port", p);
			json_string(row, "state", neuron_port_state_string(port.state));
			for (c = from; c <= to; c++)
				json_uint(row, counter_keys[c], port.counters[c]);
			if (traffic) {
				json_uint(row, "multicasts", port.counters[NEURON_PORT_MULTICASTS]);
				json_uint(row, "reductions", port.counters[NEURON_PORT_REDUCTIONS]);
			}
			json_uint(row, "epoch", port.epoch);
			json_uint(row, "snapshot_ns", port.snapshot_ns);
		}
	}
	return rows;
}

int show_counters(const struct call *call)
{
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { ">PORT", "{port}" }, { "STATE", "{state}" },
		{ ">SENT", "{tx_bytes:b}" }, { ">RECEIVED", "{rx_bytes:b}" },
		{ ">TX PACKETS", "{tx_packets}" }, { ">RX PACKETS", "{rx_packets}" },
		{ ">MULTICASTS", "{multicasts}" }, { ">REDUCTIONS", "{reductions}" },
		{ NULL, NULL },
	};

	return show(call, columns,
		    counter_rows(call, NEURON_PORT_TX_BYTES, NEURON_PORT_RX_PACKETS, true, true));
}

int show_errors(const struct call *call)
{
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { ">PORT", "{port}" }, { "STATE", "{state}" },
		{ ">CRC", "{crc_errors}" }, { ">REPLAYS", "{replays}" },
		{ ">RECOVERIES", "{recoveries}" }, { ">LINK DOWNS", "{link_downs}" },
		{ ">NO WAY", "{discards}" }, { ">BLOCKED", "{blocked}" }, { NULL, NULL },
	};
	struct json_object *rows;

	rows = counter_rows(call, NEURON_PORT_CRC_ERRORS, NEURON_PORT_BLOCKED,
			    call->all || call->json, false);
	if (!call->json && !json_object_array_length(rows)) {
		printf("No port of %u device%s has counted an error.\n", call->num_chips,
		       call->num_chips == 1 ? "" : "s");
		json_object_put(rows);
		return TOOL_OK;
	}
	return show(call, columns, rows);
}

static const struct view_column path_columns[] = {
	{ ">DEVICE", "{neuron_device}" }, { ">CHIP", "{chip}" }, { ">TO CHIP", "{peer}" },
	{ "STATUS", "{status}" }, { ">LINKS", "{links}" }, { ">MB/s", "{rate}" },
	{ ">LATENCY ns", "{latency_ns}" }, { "BY PORTS", "{ports}" },
	{ "SERIAL", "{serial}" }, { NULL, NULL },
};

static void add_path(struct json_object *rows, const struct chip *chip, uint32_t peer,
		     const struct neuron_path_info *path)
{
	struct json_object *row = new_row(rows, chip);

	json_uint(row, "peer", peer);
	json_string(row, "status", neuron_path_status_string(path->status));
	json_uint(row, "links", path->links);
	json_uint(row, "rate", path->rate);
	json_uint(row, "latency_ns", path->latency_ns);
	json_bits(row, "ports", path->ports);
	if (path->serial)
		json_serial(row, "serial", path->serial);
}

int show_path(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	const struct chip *chip = call->chips;
	struct neuron_path_info path;
	uint32_t peer;
	bool good;

	peer = parse_number(call->args[0], "chip", chip->info.num_chips);
	path = read_path(chip, peer, call->test ? NEURON_PATH_TEST : 0);
	good = path.status == NEURON_PATH_OK || path.status == NEURON_PATH_UNTESTED;
	add_path(rows, chip, peer, &path);
	show(call, path_columns, rows);
	if (!good)
		tool_warn("device %u (chip %u): no way to chip %u: %s", chip->entry.index,
			  chip->info.chip, peer, neuron_path_status_string(path.status));
	return good ? TOOL_OK : TOOL_FAILED;
}

int show_peers(const struct call *call)
{
	struct json_object *rows = json_object_new_array();
	struct neuron_path_info path;
	const struct chip *chip;
	unsigned int i;
	uint32_t peer;

	for (i = 0; i < call->num_chips; i++) {
		chip = &call->chips[i];
		for (peer = 0; peer < chip->info.num_chips; peer++) {
			if (peer == chip->info.chip)
				continue;
			path = read_path(chip, peer, 0);
			if (path.status != NEURON_PATH_NO_CHIP)
				add_path(rows, chip, peer, &path);
		}
	}
	return show(call, path_columns, rows);
}

static void add_names(struct json_object *row, const char *key, const char *const *names,
		      unsigned int count, uint32_t bits)
{
	struct json_object *list = json_list(row, key);
	unsigned int i;

	for (i = 0; i < count; i++)
		if (bits & 1u << i)
			json_object_array_add(list, json_object_new_string(names[i]));
}

/*
 * What groups there are: only the driver's debugfs tells, and only root. A line is
 * "GROUP OWNER MEMBERS SLOTS STATE", slots as bits.
 */
static void add_existing_groups(struct json_object *row, const struct chip *chip)
{
	char path[PATH_MAX], line[160], owner[32], state[16];
	unsigned int group, members;
	struct json_object *list, *o;
	unsigned long slots;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kernel/debug/accel/%s/groups", tool_sysfs,
		 chip->entry.pci_address);
	f = fopen(path, "re");
	if (!f)
		return;
	list = json_list(row, "groups");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%u %31s %u %lx %15s", &group, owner, &members, &slots,
			   state) != 5)
			continue;
		o = json_append(list);
		json_uint(o, "group", group);
		json_string(o, "owner", owner);
		json_uint(o, "members", members);
		json_bits(o, "bound_slots", slots);
		json_flag(o, "broken", !strcmp(state, "broken"));
	}
	fclose(f);
}

/* A row for each group of each chip. */
static void table_of_groups(struct json_object *rows)
{
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { ">GROUP", "{group}" },
		{ "CREATED BY", "{owner}" }, { ">MEMBERS", "{members}" },
		{ "SLOTS BOUND", "{bound_slots}" }, { "BROKEN", "{broken}" }, { NULL, NULL },
	};
	struct json_object *all = json_object_new_array(), *row, *list, *group, *device;
	size_t i, k;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		if (!json_object_object_get_ex(row, "groups", &list))
			continue;
		for (k = 0; k < json_object_array_length(list); k++) {
			group = json_object_get(json_object_array_get_idx(list, k));
			device = json_object_object_get(row, "neuron_device");
			json_object_object_add(group, "neuron_device", json_object_get(device));
			json_object_array_add(all, group);
		}
	}
	if (json_object_array_length(all))
		view_table(columns, all);
	json_object_put(all);
}

int show_groups(const struct call *call)
{
	static const char *const dtypes[] = { "int32", "uint32", "int64", "fp16", "bf16", "fp32",
					      "fp8_e4m3", "fp8_e5m2" };
	static const char *const combines[] = { "sum", "min", "max" };
	static const struct view_column columns[] = {
		{ ">DEVICE", "{neuron_device}" }, { ">CHIP", "{chip}" },
		{ "MULTICAST", "{multicast}" }, { "REDUCE", "{reduce}" },
		{ ">GROUPS", "{max_groups}" }, { ">SLOTS", "{slots}" },
		{ ">GRANULE", "{granule:b}" }, { "TYPES", "{reduce_dtypes}" },
		{ "COMBINES", "{reduce_combines}" }, { NULL, NULL },
	};
	struct json_object *rows = json_object_new_array(), *row;
	const struct neuron_fabric_info *info;
	unsigned int i;

	for (i = 0; i < call->num_chips; i++) {
		info = &call->chips[i].info;
		row = new_row(rows, &call->chips[i]);
		json_flag(row, "multicast", info->caps & NEURON_FABRIC_MULTICAST);
		json_flag(row, "reduce", info->caps & NEURON_FABRIC_REDUCE);
		json_uint(row, "max_groups", info->max_groups);
		json_uint(row, "slots", info->group_slots);
		json_uint(row, "granule", info->group_granule);
		add_names(row, "reduce_dtypes", dtypes, 8, info->reduce_dtypes);
		add_names(row, "reduce_combines", combines, 3, info->reduce_combines);
		add_existing_groups(row, &call->chips[i]);
	}
	if (!call->json)
		json_object_get(rows);
	show(call, columns, rows);
	if (!call->json) {
		table_of_groups(rows);
		json_object_put(rows);
	}
	return TOOL_OK;
}

static bool same_partition(const struct chip *a, const struct chip *b)
{
	return !memcmp(a->info.uuid, b->info.uuid, sizeof(a->info.uuid)) &&
	       a->info.partition == b->info.partition;
}

int show_partitions(const struct call *call)
{
	static const struct view_column columns[] = {
		{ "CLUSTER", "{cluster_uuid}" }, { ">PARTITION", "{partition}" },
		{ "DEVICES", "{neuron_devices}" }, { "CHIPS", "{chips}" }, { NULL, NULL },
	};
	struct json_object *rows = json_object_new_array(), *row, *devices, *ids;
	const struct chip *chips = call->chips;
	unsigned int i, j;

	for (i = 0; i < call->num_chips; i++) {
		for (j = 0; j < i && !same_partition(&chips[i], &chips[j]); j++)
			;
		if (j < i)
			continue;
		row = json_append(rows);
		add_uuid(row, &chips[i]);
		add_partition(row, &chips[i]);
		devices = json_list(row, "neuron_devices");
		ids = json_list(row, "chips");
		for (j = i; j < call->num_chips; j++) {
			if (!same_partition(&chips[i], &chips[j]))
				continue;
			json_object_array_add(devices,
					      json_object_new_uint64(chips[j].entry.index));
			json_object_array_add(ids, json_object_new_uint64(chips[j].info.chip));
		}
	}
	return show(call, columns, rows);
}
