// SPDX-License-Identifier: MIT
/*
 * neuron-monitor: the JSON report. Names of groups and keys are those that
 * users of the vendor's tool know; neuron_link_counters and fabric_info are new.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "monitor.h"

static const struct {
	const char *name;
	unsigned int group;
} names[] = {
	{ "neuroncore_counters", GROUP_CORES },
	{ "memory_used", GROUP_MEMORY },
	{ "vcpu_usage", GROUP_VCPU },
	{ "memory_info", GROUP_HOST_MEMORY },
	{ "neuron_hw_counters", GROUP_HARDWARE },
	{ "neuron_link_counters", GROUP_LINKS },
	{ "fabric_info", GROUP_FABRIC },
};

unsigned int group_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return names[i].group;
	return 0;
}

/* Every group has its period and what went wrong, "" if nothing did. */
static struct json_object *new_group(struct json_object *object, unsigned int group,
				     double period, const char *error)
{
	struct json_object *o;
	size_t i = 0;

	while (names[i].group != group)
		i++;
	o = json_child(object, names[i].name);
	json_double(o, "period", period);
	json_string(o, "error", error);
	return o;
}

/* The first that went wrong with a device. */
static const char *device_error(const struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < sample->num_devices; i++)
		if (sample->devices[i].error[0])
			return sample->devices[i].error;
	return "";
}

static bool holds(const struct sample_device *device, int32_t pid)
{
	unsigned int i;

	for (i = 0; i < device->num_holders; i++)
		if (device->holders[i].pid == pid)
			return true;
	return false;
}

/* Cores of the devices that the process holds: work cannot be told apart. */
static void add_cores(struct json_object *report, const struct sample *sample, int32_t pid,
		      double period)
{
	struct json_object *group = new_group(report, GROUP_CORES, period, "");
	struct json_object *in_use = json_child(group, "neuroncores_in_use"), *o;
	const struct sample_device *device;
	unsigned int i, c, first = 0;
	char key[16];

	for (i = 0; i < sample->num_devices; i++) {
		device = &sample->devices[i];
		for (c = 0; holds(device, pid) && c < device->info.num_cores &&
		     c < SAMPLE_MAX_CORES; c++) {
			snprintf(key, sizeof(key), "%u", first + c);
			o = json_child(in_use, key);
			json_double(o, "neuroncore_utilization", device->cores[c].tensor);
			json_double(o, "dma_utilization", device->cores[c].dma.percent);
			json_uint(o, "dma_bytes_per_second", (uint64_t)device->cores[c].dma.rate);
		}
		first += device->info.num_cores;
	}
}

static void add_memory(struct json_object *report, const struct sample *sample, int32_t pid,
		       double period)
{
	struct json_object *group = new_group(report, GROUP_MEMORY, period, ""), *o;
	uint64_t host = 0, hbm = 0;
	unsigned int i, h;

	for (i = 0; i < sample->num_devices; i++) {
		for (h = 0; h < sample->devices[i].num_holders; h++) {
			if (sample->devices[i].holders[h].pid != pid)
				continue;
			host += sample->devices[i].holders[h].host_bytes;
			hbm += sample->devices[i].holders[h].hbm_bytes;
		}
	}
	o = json_child(group, "neuron_runtime_used_bytes");
	json_uint(o, "host", host);
	json_uint(o, "neuron_device", hbm);
}

static bool seen_before(const struct sample *sample, unsigned int device, int32_t pid)
{
	unsigned int i;

	for (i = 0; i < device; i++)
		if (holds(&sample->devices[i], pid))
			return true;
	return false;
}

static void add_runtimes(struct json_object *root, const struct sample *sample,
			 unsigned int groups, double period)
{
	struct json_object *list = json_list(root, "neuron_runtime_data"), *o, *report;
	const struct neuron_holder *holder;
	unsigned int i, h;
	char text[16];

	for (i = 0; i < sample->num_devices; i++) {
		for (h = 0; h < sample->devices[i].num_holders; h++) {
			holder = &sample->devices[i].holders[h];
			if (!holder->pid || seen_before(sample, i, holder->pid))
				continue;
			o = json_append(list);
			json_int(o, "pid", holder->pid);
			snprintf(text, sizeof(text), "%d", holder->pid);
			json_string(o, "address", text);
			json_string(o, "neuron_runtime_tag", holder->command);
			json_string(o, "error", "");
			report = json_child(o, "report");
			if (groups & GROUP_CORES)
				add_cores(report, sample, holder->pid, period);
			if (groups & GROUP_MEMORY)
				add_memory(report, sample, holder->pid, period);
		}
	}
}

static void add_processors(struct json_object *o, const struct host *host)
{
	struct json_object *average = json_child(o, "average_usage");

	json_double(average, "user", host->user);
	json_double(average, "nice", host->nice);
	json_double(average, "system", host->system);
	json_double(average, "idle", host->idle);
	json_double(average, "io_wait", host->iowait);
	json_double(average, "irq", host->irq);
	json_double(average, "soft_irq", host->softirq);
}

static void add_hardware(struct json_object *o, const struct sample *sample)
{
	struct json_object *list = json_list(o, "neuron_devices"), *d;
	const struct neuron_telemetry *t;
	uint64_t corrected, uncorrected;
	int32_t temperature;
	unsigned int i, s;

	for (i = 0; i < sample->num_devices; i++) {
		if (sample->devices[i].error[0])
			continue;
		t = &sample->devices[i].telemetry;
		corrected = 0;
		uncorrected = 0;
		for (s = 0; s < NEURON_MAX_STACKS; s++) {
			corrected += t->hbm_ecc_corrected[s];
			uncorrected += t->hbm_ecc_uncorrected[s];
		}
		d = json_append(list);
		json_uint(d, "neuron_device_index", sample->devices[i].entry.index);
		json_uint(d, "mem_ecc_corrected", corrected);
		json_uint(d, "mem_ecc_uncorrected", uncorrected);
		json_uint(d, "sram_ecc_corrected", t->sram_ecc_corrected);
		json_uint(d, "sram_ecc_uncorrected", t->sram_ecc_uncorrected);
		json_uint(d, "health", t->health);
		json_uint(d, "reset_count", sample->devices[i].info.reset_count);
		if (t->sensors)
			json_uint(d, "power_uw", t->power_uw);
		if (sample_temperature(&sample->devices[i], &temperature))
			json_int(d, "temperature_millicelsius", temperature);
	}
}

static void add_ports(struct json_object *o, const struct sample *sample)
{
	static const char *const keys[] = {
		"tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "crc_errors", "replays",
		"recoveries", "link_downs", "discards", "blocked", "multicasts", "reductions",
	};
	struct json_object *list = json_list(o, "neuron_devices"), *d, *ports, *port;
	const struct sample_device *device;
	unsigned int i, c;
	uint32_t p;

	for (i = 0; i < sample->num_devices; i++) {
		device = &sample->devices[i];
		if (device->error[0] || !device->fabric.num_ports)
			continue;
		d = json_append(list);
		json_uint(d, "neuron_device_index", device->entry.index);
		ports = json_list(d, "ports");
		for (p = 0; p < device->fabric.num_ports; p++) {
			port = json_append(ports);
			json_uint(port, "port", p);
			json_string(port, "state",
				    neuron_port_state_string(device->ports[p].info.state));
			for (c = 0; c < NEURON_PORT_NUM_COUNTERS; c++)
				json_uint(port, keys[c], device->ports[p].info.counters[c]);
			json_uint(port, "tx_bytes_per_second", (uint64_t)device->ports[p].tx_rate);
			json_uint(port, "rx_bytes_per_second", (uint64_t)device->ports[p].rx_rate);
		}
	}
}

static void add_fabric(struct json_object *o, const struct sample *sample)
{
	struct json_object *list = json_list(o, "neuron_devices"), *d;
	const struct neuron_fabric_info *info;
	unsigned int i;

	for (i = 0; i < sample->num_devices; i++) {
		info = &sample->devices[i].fabric;
		if (sample->devices[i].error[0] || info->kind == NEURON_FABRIC_NONE)
			continue;
		d = json_append(list);
		json_uint(d, "neuron_device_index", sample->devices[i].entry.index);
		json_string(d, "kind", neuron_fabric_kind_string(info->kind));
		json_uint(d, "chip", info->chip);
		json_uint(d, "num_chips", info->num_chips);
		if (info->partition != 0xffff)
			json_uint(d, "partition", info->partition);
		json_uint(d, "num_ports", info->num_ports);
		json_uint(d, "num_ports_up", (uint64_t)__builtin_popcountll(info->ports_up));
		json_uint(d, "errors", info->errors);
	}
}

static void add_system(struct json_object *root, const struct sample *sample,
		       const struct host *host, unsigned int groups, double period)
{
	struct json_object *system = json_child(root, "system_data"), *o;

	if (groups & GROUP_VCPU)
		add_processors(new_group(system, GROUP_VCPU, period, host->error), host);
	if (groups & GROUP_HOST_MEMORY) {
		o = new_group(system, GROUP_HOST_MEMORY, period, host->error);
		json_uint(o, "memory_total_bytes", host->memory_total);
		json_uint(o, "memory_used_bytes", host->memory_used);
		json_uint(o, "swap_total_bytes", host->swap_total);
		json_uint(o, "swap_used_bytes", host->swap_used);
	}
	if (groups & GROUP_HARDWARE)
		add_hardware(new_group(system, GROUP_HARDWARE, period, device_error(sample)),
			     sample);
	if (groups & GROUP_LINKS)
		add_ports(new_group(system, GROUP_LINKS, period, device_error(sample)), sample);
	if (groups & GROUP_FABRIC)
		add_fabric(new_group(system, GROUP_FABRIC, period, device_error(sample)), sample);
}

struct json_object *report_json(const struct sample *sample, const struct host *host,
				unsigned int groups, double period)
{
	const struct sample_device *first = &sample->devices[0];
	struct json_object *root = json_object_new_object(), *o;

	add_runtimes(root, sample, groups, period);
	add_system(root, sample, host, groups, period);
	o = json_child(root, "neuron_hardware_info");
	json_string(o, "neuron_device_type", first->info.name);
	json_uint(o, "neuron_device_count", sample->num_devices);
	json_uint(o, "neuron_device_memory_size", first->memory.total);
	json_uint(o, "neuroncore_per_device_count", first->info.num_cores);
	json_uint(o, "logical_neuroncore_config", 1);
	json_string(o, "error", device_error(sample));
	return root;
}
