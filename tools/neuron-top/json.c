// SPDX-License-Identifier: MIT
/*
 * neuron-top: what the views show, as JSON.
 */
#include "json.h"
#include "top.h"

static void add_cores(struct json_object *o, const struct sample_device *device)
{
	struct json_object *list = json_list(o, "cores"), *core;
	unsigned int i;

	for (i = 0; i < device->info.num_cores && i < SAMPLE_MAX_CORES; i++) {
		core = json_append(list);
		json_uint(core, "core", i);
		json_double(core, "tensor_percent", device->cores[i].tensor);
		json_double(core, "dma_percent", device->cores[i].dma.percent);
		json_uint(core, "dma_bytes_per_second", (uint64_t)device->cores[i].dma.rate);
	}
}

static void add_links(struct json_object *o, const struct sample_device *device)
{
	struct json_object *list = json_list(o, "links"), *port;
	unsigned int p;

	for (p = 0; p < device->fabric.num_ports; p++) {
		port = json_append(list);
		json_uint(port, "port", p);
		json_string(port, "state", neuron_port_state_string(device->ports[p].info.state));
		json_uint(port, "tx_bytes_per_second", (uint64_t)device->ports[p].tx_rate);
		json_uint(port, "rx_bytes_per_second", (uint64_t)device->ports[p].rx_rate);
	}
}

static void add_processes(struct json_object *o, const struct sample_device *device)
{
	struct json_object *list = json_list(o, "processes"), *process;
	const struct neuron_holder *holder;
	unsigned int i;

	for (i = 0; i < device->num_holders; i++) {
		holder = &device->holders[i];
		process = json_append(list);
		json_int(process, "pid", holder->pid);
		json_uint(process, "uid", holder->uid);
		json_string(process, "command", holder->command);
		json_uint(process, "hbm_bytes", holder->hbm_bytes);
		json_uint(process, "host_bytes", holder->host_bytes);
		json_uint(process, "queues", holder->queues);
		json_uint(process, "rings", holder->rings);
	}
}

void top_json(const struct top *top)
{
	struct json_object *rows = json_object_new_array(), *o;
	const struct sample_device *device;
	int32_t temperature;
	unsigned int i;

	for (i = 0; i < top->sample->num_devices; i++) {
		device = &top->sample->devices[i];
		o = json_append(rows);
		json_uint(o, "neuron_device", device->entry.index);
		json_string(o, "bdf", device->entry.pci_address);
		if (device->error[0]) {
			json_string(o, "error", device->error);
			continue;
		}
		json_double(o, "tensor_percent", device->tensor);
		json_double(o, "dma_percent", device->dma.percent);
		json_uint(o, "dma_bytes_per_second", (uint64_t)device->dma.rate);
		json_uint(o, "memory_used", sample_used(device));
		json_uint(o, "memory_size", device->memory.total);
		if (device->telemetry.sensors)
			json_uint(o, "power_uw", device->telemetry.power_uw);
		if (sample_temperature(device, &temperature))
			json_int(o, "temperature_millicelsius", temperature);
		json_uint(o, "health", device->telemetry.health);
		add_cores(o, device);
		add_links(o, device);
		add_processes(o, device);
	}
	json_print(rows);
}
