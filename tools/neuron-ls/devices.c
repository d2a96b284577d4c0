// SPDX-License-Identifier: MIT
/*
 * neuron-ls: asks the devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ls.h"

/* The 16 chips of a server are a torus of so many rows and columns. */
#define TORUS 4

static bool has_process(const struct device *device, int32_t pid)
{
	unsigned int i;

	for (i = 0; i < device->num_processes; i++)
		if (device->processes[i].pid == pid)
			return true;
	return false;
}

/* Each process once that has queues or memory. An older driver tells of none. */
static void ask_holders(struct device *device)
{
	struct neuron_holder holder = { .size = sizeof(holder) };
	struct process *grown;
	uint32_t from;

	for (from = 0; !neuron_device_next_holder(device->handle, from, &holder);
	     from = holder.id + 1) {
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
		tool_printable(holder.command);
		memcpy(grown->command, holder.command, sizeof(grown->command));
	}
}

static void ask_affinity(struct device *device)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/class/accel/accel%u/device/local_cpulist", tool_sysfs,
		 device->entry.accel);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(device->affinity, sizeof(device->affinity), f))
		device->affinity[0] = '\0';
	device->affinity[strcspn(device->affinity, "\n")] = '\0';
	fclose(f);
}

static void ask(struct device *device)
{
	device->info.size = sizeof(device->info);
	device->memory.size = sizeof(device->memory);
	device->fabric.size = sizeof(device->fabric);
	ask_affinity(device);
	if (neuron_device_open(device->entry.index, &device->handle)) {
		snprintf(device->error, sizeof(device->error), "%s", neuron_last_error());
		return;
	}
	if (neuron_device_get_info(device->handle, &device->info) ||
	    neuron_device_get_memory(device->handle, NEURON_STACK_ANY, &device->memory)) {
		snprintf(device->error, sizeof(device->error), "%s", neuron_last_error());
		return;
	}
	if (neuron_fabric_get_info(device->handle, &device->fabric))
		device->fabric.kind = NEURON_FABRIC_NONE;
	ask_holders(device);
}

bool same_fabric(const struct device *a, const struct device *b)
{
	return !a->error[0] && !b->error[0] && a->fabric.kind != NEURON_FABRIC_NONE &&
	       a->fabric.kind == b->fabric.kind &&
	       !memcmp(a->fabric.uuid, b->fabric.uuid, sizeof(a->fabric.uuid));
}

bool path_is_good(const struct neuron_path_info *path)
{
	return path->status == NEURON_PATH_OK || path->status == NEURON_PATH_UNTESTED;
}

/* Where @b is, seen from @a: up, left, down, right, anything else. */
static unsigned int direction(const struct device *a, const struct device *b)
{
	unsigned int size = TORUS * TORUS, at = a->info.device_index, to = b->info.device_index;

	if (a->fabric.server != b->fabric.server)
		return 4;
	if (to == (at + size - TORUS) % size)
		return 0;
	if (to / TORUS == at / TORUS && to % TORUS == (at + TORUS - 1) % TORUS)
		return 1;
	if (to == (at + TORUS) % size)
		return 2;
	return 3;
}

static void connect(struct device *devices, unsigned int count, struct device *device)
{
	bool torus = device->fabric.kind == NEURON_FABRIC_NEURONLINK;
	struct neuron_path_info *path;
	unsigned int i, pass;

	for (i = 0; i < count; i++) {
		path = &device->paths[i];
		path->size = sizeof(*path);
		path->status = NEURON_PATH_NO_CHIP;
		if (&devices[i] != device && same_fabric(device, &devices[i]) &&
		    neuron_fabric_get_path(device->handle, devices[i].fabric.chip, 0, path))
			path->status = NEURON_PATH_NO_CHIP;
	}
	for (pass = 0; pass < (torus ? 5 : 1); pass++) {
		for (i = 0; i < count; i++) {
			path = &device->paths[i];
			if (!path_is_good(path))
				continue;
			if (torus && (path->links != 1 || direction(device, &devices[i]) != pass))
				continue;
			device->connected[device->num_connected++] = i;
		}
	}
}

struct device *devices_find(unsigned int *count)
{
	struct neuron_device_entry *entries = tool_devices(count);
	struct device *devices = calloc(*count, sizeof(*devices));
	unsigned int i, cores = 0;

	if (!devices)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < *count; i++) {
		devices[i].entry = entries[i];
		devices[i].paths = calloc(*count, sizeof(*devices[i].paths));
		devices[i].connected = calloc(*count, sizeof(*devices[i].connected));
		if (!devices[i].paths || !devices[i].connected)
			tool_die(TOOL_FAILED, "out of memory");
		ask(&devices[i]);
		devices[i].first_core = cores;
		cores += devices[i].info.num_cores;
	}
	for (i = 0; i < *count; i++)
		connect(devices, *count, &devices[i]);
	free(entries);
	return devices;
}

void devices_free(struct device *devices, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		neuron_device_close(devices[i].handle);
		free(devices[i].processes);
		free(devices[i].paths);
		free(devices[i].connected);
	}
	free(devices);
}
