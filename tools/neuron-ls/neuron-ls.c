// SPDX-License-Identifier: MIT
/*
 * neuron-ls: the Trainium devices of this machine.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "ls.h"
#include "table.h"

static void print_usage(void)
{
	printf("usage: neuron-ls [OPTION]\n"
	       "\n"
	       "Lists the Trainium devices of this machine.\n"
	       "\n"
	       "  -w, --wide            more columns, and the processes that hold a device\n"
	       "  -a, --show-all-procs  as --wide, for scripts of others\n"
	       "  -t, --topology        how the devices are joined: grid of a torus, or matrix\n"
	       "  -j, --json            JSON array on standard output (also --json-output)\n"
	       "  -h, --help            this text\n"
	       "  -V, --version         version\n"
	       "\n"
	       "Exit status: 0; 1 no device, or one that could not be asked; 2 wrong usage.\n");
}

static void connected_text(const struct device *device, char *text, size_t size)
{
	unsigned int i;
	size_t n = 0;

	snprintf(text, size, "-");
	for (i = 0; i < device->num_connected && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%u", i ? ", " : "",
				      device->connected[i]);
	/* So many that a list says nothing: all of a switched fabric. */
	if (device->num_connected > 8)
		snprintf(text, size, "%u devices", device->num_connected);
}

static void core_text(const struct device *device, char *text, size_t size)
{
	unsigned int last = device->first_core + device->info.num_cores - 1;

	if (device->info.num_cores > 1)
		snprintf(text, size, "%u-%u", device->first_core, last);
	else
		snprintf(text, size, "%u", device->first_core);
}

/* Columns that all tables begin with, without the address. */
static void add_shape(struct table *table, const struct device *device, bool ids)
{
	char text[128];

	table_cell(table, "%u", device->entry.index);
	table_cell(table, "%u", device->info.num_cores);
	if (ids) {
		core_text(device, text, sizeof(text));
		table_cell(table, "%s", text);
	}
	table_cell(table, "%s", tool_bytes(device->memory.total).text);
	connected_text(device, text, sizeof(text));
	table_cell(table, "%s", text);
	table_cell(table, "%s", device->info.pci_address);
}

static void print_table(const struct device *devices, unsigned int count)
{
	struct table *table;
	unsigned int i;

	table = table_new(">NEURON\nDEVICE", ">NEURON\nCORES", "NEURON\nCORE IDS",
			  ">NEURON\nMEMORY", "CONNECTED\nDEVICES", "PCI\nBDF", "CPU\nAFFINITY",
			  ">NUMA\nNODE", NULL);
	for (i = 0; i < count; i++) {
		if (devices[i].error[0])
			continue;
		add_shape(table, &devices[i], true);
		table_cell(table, "%s", devices[i].affinity[0] ? devices[i].affinity : "-");
		table_cell(table, "%d", devices[i].entry.numa_node);
	}
	table_print(table, stdout, 1);
	table_free(table);
}

static void add_wide(struct table *table, const struct device *device)
{
	const struct neuron_device_info *info = &device->info;

	table_cell(table, "%s", info->name);
	if (info->serial)
		table_cell(table, "%016" PRIx64, info->serial);
	else
		table_cell(table, "-");
	table_cell(table, "%s", tool_bytes(device->memory.free).text);
	if (device->fabric.kind == NEURON_FABRIC_NONE)
		table_cell(table, "-");
	else
		table_cell(table, "%s chip %u",
			   neuron_fabric_kind_string(device->fabric.kind), device->fabric.chip);
	if (info->firmware_build)
		table_cell(table, "%u (%u)", info->firmware_api, info->firmware_build);
	else
		table_cell(table, "%u", info->firmware_api);
	table_cell(table, "%s %u.%u.%u", info->driver, info->driver_version[0],
		   info->driver_version[1], info->driver_version[2]);
}

/* A row for each process; the others of a device have nothing else. */
static void print_wide(const struct device *devices, unsigned int count)
{
	struct table *table;
	unsigned int i, p, c;

	table = table_new(">NEURON\nDEVICE", ">NEURON\nCORES", ">NEURON\nMEMORY",
			  "CONNECTED\nDEVICES", "PCI\nBDF", "NAME", "SERIAL", ">FREE", "FABRIC",
			  ">FIRMWARE", "DRIVER", ">PID", "COMMAND", NULL);
	for (i = 0; i < count; i++) {
		if (devices[i].error[0])
			continue;
		add_shape(table, &devices[i], false);
		add_wide(table, &devices[i]);
		if (!devices[i].num_processes) {
			table_cell(table, "-");
			table_cell(table, "-");
		}
		for (p = 0; p < devices[i].num_processes; p++) {
			for (c = 0; p && c < 11; c++)
				table_cell(table, "%s", "");
			table_cell(table, "%d", devices[i].processes[p].pid);
			table_cell(table, "%s", devices[i].processes[p].command);
		}
	}
	table_print(table, stdout, 1);
	table_free(table);
}

static void print_topology(const struct device *devices, unsigned int count)
{
	struct table *table;
	unsigned int i;

	table = table_new(">NEURON\nDEVICE", ">NEURON\nCORES", ">NEURON\nMEMORY",
			  "CONNECTED\nDEVICES", "PCI\nBDF", NULL);
	for (i = 0; i < count; i++)
		if (!devices[i].error[0])
			add_shape(table, &devices[i], false);
	table_print(table, stdout, 1);
	table_free(table);
	topology_print(devices, count);
}

static void add_fabric(struct json_object *o, const struct device *device)
{
	const struct neuron_fabric_info *info = &device->fabric;
	struct json_object *fabric;
	char text[40] = "";
	unsigned int i;

	if (info->kind == NEURON_FABRIC_NONE)
		return;
	fabric = json_child(o, "fabric");
	json_string(fabric, "kind", neuron_fabric_kind_string(info->kind));
	for (i = 0; i < sizeof(info->uuid); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%02x",
			 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info->uuid[i]);
	json_string(fabric, "cluster_uuid", text);
	json_uint(fabric, "chip", info->chip);
	json_uint(fabric, "num_chips", info->num_chips);
	json_uint(fabric, "rack", info->rack);
	json_uint(fabric, "server", info->server);
	json_uint(fabric, "position", info->position);
	if (info->partition != 0xffff)
		json_uint(fabric, "partition", info->partition);
	json_uint(fabric, "num_ports", info->num_ports);
	json_bits(fabric, "ports_up", info->ports_up);
}

static void add_lists(struct json_object *o, const struct device *device)
{
	struct json_object *list, *process;
	unsigned int i;

	list = json_list(o, "connected_to");
	for (i = 0; i < device->num_connected; i++)
		json_object_array_add(list, json_object_new_int64(device->connected[i]));
	list = json_list(o, "neuroncore_ids");
	for (i = 0; i < device->info.num_cores; i++)
		json_object_array_add(list, json_object_new_int64(device->first_core + i));
	list = json_list(o, "neuron_processes");
	for (i = 0; i < device->num_processes; i++) {
		process = json_append(list);
		json_uint(process, "pid", (uint64_t)device->processes[i].pid);
		json_string(process, "command", device->processes[i].command);
		/* What people call the runtime there does not tell its version here. */
		json_string(process, "neuron_runtime_version", "NA");
	}
}

static void add_device(struct json_object *rows, const struct device *device)
{
	const struct neuron_device_info *info = &device->info;
	struct json_object *o = json_append(rows);
	char text[64];

	json_uint(o, "neuron_device", device->entry.index);
	json_string(o, "bdf", device->entry.pci_address);
	json_string(o, "node", device->entry.node);
	json_string(o, "cpu_affinity", device->affinity);
	snprintf(text, sizeof(text), "%d", device->entry.numa_node);
	json_string(o, "numa_node", text);
	if (device->error[0]) {
		json_string(o, "error", device->error);
		return;
	}
	json_string(o, "name", info->name);
	if (info->serial)
		json_serial(o, "serial", info->serial);
	json_uint(o, "nc_count", info->num_cores);
	json_uint(o, "logical_neuroncore_config", 1);
	json_uint(o, "memory_size", device->memory.total);
	json_uint(o, "memory_free", device->memory.free);
	json_uint(o, "firmware_api", info->firmware_api);
	if (info->firmware_build)
		json_uint(o, "firmware_build", info->firmware_build);
	json_string(o, "driver", info->driver);
	snprintf(text, sizeof(text), "%u.%u.%u", info->driver_version[0], info->driver_version[1],
		 info->driver_version[2]);
	json_string(o, "driver_version", text);
	json_uint(o, "reset_count", info->reset_count);
	add_fabric(o, device);
	add_lists(o, device);
}

static void show_json(const struct device *devices, unsigned int count)
{
	struct json_object *rows = json_object_new_array();
	unsigned int i;

	for (i = 0; i < count; i++)
		add_device(rows, &devices[i]);
	json_print(rows);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "wide", no_argument, NULL, 'w' },
		{ "show-all-procs", no_argument, NULL, 'w' },
		{ "topology", no_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "json-output", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	void (*show)(const struct device *devices, unsigned int count) = print_table;
	struct device *devices;
	int status = TOOL_OK, c;
	unsigned int count, i;
	bool json = false;

	tool_name = "neuron-ls";
	while ((c = getopt_long(argc, argv, "watjhV", options, NULL)) != -1) {
		switch (c) {
		case 'w':
		case 'a':
			show = print_wide;
			break;
		case 't':
			show = print_topology;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			print_usage();
			return tool_finish(TOOL_OK);
		case 'V':
			tool_print_version();
			return tool_finish(TOOL_OK);
		default:
			tool_usage_error();
		}
	}
	if (optind < argc) {
		tool_warn("unexpected argument '%s'", argv[optind]);
		tool_usage_error();
	}

	devices = devices_find(&count);
	if (json)
		show = show_json;
	show(devices, count);
	for (i = 0; i < count; i++) {
		if (!devices[i].error[0])
			continue;
		tool_warn("%s", devices[i].error);
		status = TOOL_FAILED;
	}
	devices_free(devices, count);
	return tool_finish(status);
}
