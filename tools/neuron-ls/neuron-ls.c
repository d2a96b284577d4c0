// SPDX-License-Identifier: MIT
/*
 * neuron-ls: the Trainium devices of this machine.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "table.h"
#include "tool.h"

struct process {
	int32_t pid;
	char command[NEURON_NAME_SIZE];
};

/**
 * struct device - what is shown of one device
 */
struct device {
	struct neuron_device_entry entry;
	struct neuron_device_info info;
	struct neuron_memory_info memory;
	/** @processes: that hold it, as far as the caller may see them */
	struct process *processes;
	unsigned int num_processes;
	/** @error: why there is nothing but @entry; empty if there is */
	char error[320];
};

static void print_usage(void)
{
	printf("usage: neuron-ls [OPTION]\n"
	       "\n"
	       "Lists the Trainium devices of this machine.\n"
	       "\n"
	       "  -j, --json     JSON array on standard output (also --json-output)\n"
	       "  -h, --help     this text\n"
	       "  -V, --version  version\n"
	       "\n"
	       "Exit status: 0; 1 no device, or one that could not be asked; 2 wrong usage.\n");
}

static bool has_process(const struct device *device, int32_t pid)
{
	unsigned int i;

	for (i = 0; i < device->num_processes; i++)
		if (device->processes[i].pid == pid)
			return true;
	return false;
}

/* Each process once that has queues or memory. An older driver tells of none. */
static void ask_holders(struct device *device, struct neuron_device *handle)
{
	struct neuron_holder holder = { .size = sizeof(holder) };
	struct process *grown;
	uint32_t from;

	for (from = 0; !neuron_device_next_holder(handle, from, &holder); from = holder.id + 1) {
		if (!holder.queues && !holder.hbm_bytes && !holder.host_bytes)
			continue;
		if (!holder.pid || has_process(device, holder.pid))
			continue;
		grown = realloc(device->processes, (device->num_processes + 1) * sizeof(*grown));
		if (!grown)
			tool_die(TOOL_FAILED, "out of memory");
		device->processes = grown;
		grown += device->num_processes++;
		grown->pid = holder.pid;
		memcpy(grown->command, holder.command, sizeof(grown->command));
	}
}

static void ask(struct device *device)
{
	struct neuron_device *handle;

	device->info.size = sizeof(device->info);
	device->memory.size = sizeof(device->memory);
	if (neuron_device_open(device->entry.index, &handle)) {
		snprintf(device->error, sizeof(device->error), "%s", neuron_last_error());
		return;
	}
	if (neuron_device_get_info(handle, &device->info) ||
	    neuron_device_get_memory(handle, NEURON_STACK_ANY, &device->memory))
		snprintf(device->error, sizeof(device->error), "%s", neuron_last_error());
	else
		ask_holders(device, handle);
	neuron_device_close(handle);
}

static struct device *find(unsigned int *count)
{
	struct neuron_device_entry *entries = NULL;
	struct device *devices;
	int found, room = 0, i;

	/* Devices may come while we look. */
	while ((found = neuron_enumerate(entries, sizeof(*entries), (uint32_t)room)) > room) {
		room = found;
		entries = realloc(entries, (size_t)room * sizeof(*entries));
		if (!entries)
			tool_die(TOOL_FAILED, "out of memory");
	}
	if (found < 0)
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	devices = calloc((size_t)found + 1, sizeof(*devices));
	if (!devices)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < found; i++) {
		devices[i].entry = entries[i];
		ask(&devices[i]);
	}
	free(entries);
	*count = (unsigned int)found;
	return devices;
}

static void print_table(const struct device *devices, unsigned int count)
{
	struct table *table;
	unsigned int i;

	table = table_new(">DEVICE", "PCI BDF", "NAME", "SERIAL", ">CORES", ">MEMORY", ">FREE",
			  ">FIRMWARE", "DRIVER", NULL);
	for (i = 0; i < count; i++) {
		const struct neuron_device_info *info = &devices[i].info;

		if (devices[i].error[0])
			continue;
		table_cell(table, "%u", devices[i].entry.index);
		table_cell(table, "%s", info->pci_address);
		table_cell(table, "%s", info->name);
		if (info->serial)
			table_cell(table, "%016" PRIx64, info->serial);
		else
			table_cell(table, "-");
		table_cell(table, "%u", info->num_cores);
		table_cell(table, "%s", tool_bytes(devices[i].memory.total).text);
		table_cell(table, "%s", tool_bytes(devices[i].memory.free).text);
		if (info->firmware_build)
			table_cell(table, "%u (%u)", info->firmware_api, info->firmware_build);
		else
			table_cell(table, "%u", info->firmware_api);
		table_cell(table, "%s %u.%u.%u", info->driver, info->driver_version[0],
			   info->driver_version[1], info->driver_version[2]);
	}
	table_print(table, stdout, 1);
	table_free(table);
}

static void add_string(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_int(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static struct json_object *processes_json(const struct device *device)
{
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < device->num_processes; i++) {
		struct json_object *o = json_object_new_object();

		add_int(o, "pid", (uint64_t)device->processes[i].pid);
		add_string(o, "command", device->processes[i].command);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *device_json(const struct device *device)
{
	const struct neuron_device_info *info = &device->info;
	struct json_object *o = json_object_new_object();
	char text[64];

	add_int(o, "neuron_device", device->entry.index);
	add_string(o, "bdf", device->entry.pci_address);
	add_string(o, "node", device->entry.node);
	snprintf(text, sizeof(text), "%d", device->entry.numa_node);
	add_string(o, "numa_node", text);
	if (device->error[0]) {
		add_string(o, "error", device->error);
		return o;
	}
	add_string(o, "name", info->name);
	if (info->serial) {
		snprintf(text, sizeof(text), "%016" PRIx64, info->serial);
		add_string(o, "serial", text);
	}
	add_int(o, "nc_count", info->num_cores);
	add_int(o, "memory_size", device->memory.total);
	add_int(o, "memory_free", device->memory.free);
	add_int(o, "firmware_api", info->firmware_api);
	if (info->firmware_build)
		add_int(o, "firmware_build", info->firmware_build);
	add_string(o, "driver", info->driver);
	snprintf(text, sizeof(text), "%u.%u.%u", info->driver_version[0], info->driver_version[1],
		 info->driver_version[2]);
	add_string(o, "driver_version", text);
	add_int(o, "reset_count", info->reset_count);
	json_object_object_add(o, "neuron_processes", processes_json(device));
	return o;
}

static void print_json(const struct device *devices, unsigned int count)
{
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < count; i++)
		json_object_array_add(list, device_json(&devices[i]));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(list);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "json-output", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int status = TOOL_OK, json = 0, c;
	struct device *devices;
	unsigned int count, i;

	tool_name = "neuron-ls";
	while ((c = getopt_long(argc, argv, "jhV", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = 1;
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

	devices = find(&count);
	if (json)
		print_json(devices, count);
	else if (count)
		print_table(devices, count);
	if (!count) {
		tool_warn("%s", neuron_last_error());
		status = TOOL_FAILED;
	}
	for (i = 0; i < count; i++) {
		if (!devices[i].error[0])
			continue;
		tool_warn("%s", devices[i].error);
		status = TOOL_FAILED;
	}
	for (i = 0; i < count; i++)
		free(devices[i].processes);
	free(devices);
	return tool_finish(status);
}
