// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

static void *must(void *memory)
{
	if (!memory)
		tool_die(TOOL_FAILED, "out of memory");
	return memory;
}

static unsigned int num_cores(const struct sample_device *device)
{
	return device->info.num_cores < SAMPLE_MAX_CORES ? device->info.num_cores :
							   SAMPLE_MAX_CORES;
}

struct sample *sample_open(void)
{
	struct sample *sample = must(calloc(1, sizeof(*sample)));
	struct neuron_device_entry *entries = tool_devices(&sample->num_devices);
	struct sample_device *device;
	unsigned int i;

	sample->devices = must(calloc(sample->num_devices, sizeof(*sample->devices)));
	for (i = 0; i < sample->num_devices; i++) {
		device = &sample->devices[i];
		device->entry = entries[i];
		device->handle = tool_open_index(entries[i].index);
		device->info.size = sizeof(device->info);
		device->fabric.size = sizeof(device->fabric);
		if (neuron_device_get_info(device->handle, &device->info) ||
		    neuron_fabric_get_info(device->handle, &device->fabric))
			tool_die(TOOL_FAILED, "%s", neuron_last_error());
		device->engines = must(calloc(device->info.num_engines + 1,
					      sizeof(*device->engines)));
		device->ports = must(calloc(device->fabric.num_ports + 1, sizeof(*device->ports)));
	}
	free(entries);
	return sample;
}

void sample_close(struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < sample->num_devices; i++) {
		neuron_device_close(sample->devices[i].handle);
		free(sample->devices[i].engines);
		free(sample->devices[i].ports);
		free(sample->devices[i].holders);
	}
	free(sample->devices);
	free(sample);
}

/* Counters begin anew with a reset; then there is no rate for once. */
static double per_second(uint64_t now, uint64_t before, int64_t ns)
{
	return now > before && ns > 0 ? (double)(now - before) * 1e9 / (double)ns : 0;
}

static double percent(double value)
{
	return value < 0 ? 0 : value > 100 ? 100 : value;
}

static int look_at_engines(struct sample_device *device, int64_t ns)
{
	unsigned int e, of_core[SAMPLE_MAX_CORES] = { 0 };
	struct neuron_engine_info info;
	struct sample_engine *engine;
	struct sample_core *core;

	memset(&device->dma, 0, sizeof(device->dma));
	device->free_rings = 0;
	device->rings = device->info.num_engines * device->info.queues_per_engine;
	for (e = 0; e < num_cores(device); e++)
		memset(&device->cores[e].dma, 0, sizeof(device->cores[e].dma));
	for (e = 0; e < device->info.num_engines; e++) {
		engine = &device->engines[e];
		info.size = sizeof(info);
		if (neuron_device_get_engine(device->handle, e, &info))
			return -1;
		engine->load.rate = per_second(info.bytes, engine->info.bytes, ns);
		engine->load.percent = percent(per_second(info.busy_ns, engine->info.busy_ns, ns) /
					       1e7);
		engine->info = info;
		device->dma.rate += engine->load.rate;
		device->dma.percent += engine->load.percent;
		device->free_rings += info.rings_free;
		if (info.core < 0 || info.core >= (int32_t)num_cores(device))
			continue;
		core = &device->cores[info.core];
		core->dma.rate += engine->load.rate;
		core->dma.percent += engine->load.percent;
		of_core[info.core]++;
	}
	if (device->info.num_engines)
		device->dma.percent /= device->info.num_engines;
	for (e = 0; e < num_cores(device); e++)
		if (of_core[e])
			device->cores[e].dma.percent /= of_core[e];
	return 0;
}

static int look_at_cores(struct sample_device *device)
{
	uint64_t busy, idle, before_busy, before_idle;
	struct neuron_core_info info;
	struct sample_core *core;
	unsigned int c, g;

	device->tensor = 0;
	for (c = 0; c < num_cores(device); c++) {
		core = &device->cores[c];
		info.size = sizeof(info);
		if (neuron_device_get_core(device->handle, c, &info))
			return -1;
		busy = 0;
		idle = 0;
		before_busy = 0;
		before_idle = 0;
		for (g = 0; g < 4; g++) {
			busy += info.matmul[g] + info.weight_load[g] + info.fast_weight_load[g];
			idle += info.idle[g];
			before_busy += core->info.matmul[g] + core->info.weight_load[g] +
				       core->info.fast_weight_load[g];
			before_idle += core->info.idle[g];
		}
		core->tensor = 0;
		if (busy > before_busy && idle >= before_idle)
			core->tensor = percent(100.0 * (double)(busy - before_busy) /
					       (double)(busy - before_busy + idle - before_idle));
		core->info = info;
		device->tensor += core->tensor / num_cores(device);
	}
	return 0;
}

static int look_at_ports(struct sample_device *device, int64_t ns)
{
	struct neuron_port_info info;
	struct sample_port *port;
	unsigned int p;

	if (neuron_fabric_get_info(device->handle, &device->fabric))
		return -1;
	for (p = 0; p < device->fabric.num_ports; p++) {
		port = &device->ports[p];
		info.size = sizeof(info);
		if (neuron_port_get_info(device->handle, p, &info))
			return -1;
		port->tx_rate = per_second(info.counters[NEURON_PORT_TX_BYTES],
					   port->info.counters[NEURON_PORT_TX_BYTES], ns);
		port->rx_rate = per_second(info.counters[NEURON_PORT_RX_BYTES],
					   port->info.counters[NEURON_PORT_RX_BYTES], ns);
		port->info = info;
	}
	return 0;
}

/* A process may have opened the device several times. */
static bool add_to_process(struct sample_device *device, const struct neuron_holder *holder)
{
	struct neuron_holder *known;
	unsigned int i;

	for (i = 0; holder->pid && i < device->num_holders; i++) {
		known = &device->holders[i];
		if (known->pid != holder->pid)
			continue;
		known->hbm_bytes += holder->hbm_bytes;
		known->host_bytes += holder->host_bytes;
		known->queues += holder->queues;
		known->rings += holder->rings;
		return true;
	}
	return false;
}

static void look_at_holders(struct sample_device *device)
{
	struct neuron_holder holder = { .size = sizeof(holder) };
	uint32_t from;

	device->num_holders = 0;
	for (from = 0; !neuron_device_next_holder(device->handle, from, &holder);
	     from = holder.id + 1) {
		if (!holder.queues && !holder.hbm_bytes && !holder.host_bytes)
			continue;
		if (add_to_process(device, &holder))
			continue;
		tool_printable(holder.command);
		if (device->num_holders == device->room_holders) {
			device->room_holders = 2 * device->room_holders + 8;
			device->holders = must(realloc(device->holders, device->room_holders *
						       sizeof(*device->holders)));
		}
		device->holders[device->num_holders++] = holder;
	}
}

static int look_at(struct sample_device *device)
{
	int64_t now = tool_now(), ns = device->seen ? now - device->when : 0;

	device->when = now;
	device->memory.size = sizeof(device->memory);
	device->telemetry.size = sizeof(device->telemetry);
	if (neuron_device_get_info(device->handle, &device->info) ||
	    neuron_device_get_memory(device->handle, NEURON_STACK_ANY, &device->memory) ||
	    neuron_device_get_telemetry(device->handle, &device->telemetry))
		return -1;
	if (look_at_engines(device, ns) || look_at_cores(device) || look_at_ports(device, ns))
		return -1;
	look_at_holders(device);
	return 0;
}

void sample_take(struct sample *sample)
{
	struct sample_device *device;
	unsigned int i;

	for (i = 0; i < sample->num_devices; i++) {
		device = &sample->devices[i];
		device->error[0] = '\0';
		if (look_at(device)) {
			snprintf(device->error, sizeof(device->error), "%s", neuron_last_error());
			device->seen = 0;
		} else {
			device->seen++;
		}
	}
}

uint64_t sample_used(const struct sample_device *device)
{
	return device->memory.total - device->memory.free;
}

bool sample_temperature(const struct sample_device *device, int32_t *temperature)
{
	const struct neuron_telemetry *t = &device->telemetry;
	uint32_t i;

	if (!t->sensors || !(t->num_dies + t->num_stacks))
		return false;
	*temperature = t->temperature[0];
	for (i = 1; i < t->num_dies + t->num_stacks && i < NEURON_MAX_DIES + NEURON_MAX_STACKS; i++)
		if (t->temperature[i] > *temperature)
			*temperature = t->temperature[i];
	return true;
}
