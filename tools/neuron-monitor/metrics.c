// SPDX-License-Identifier: MIT
/*
 * neuron-monitor: text for Prometheus. It is made anew from each sample, so what
 * is gone (a device, a process) has no series any more.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

static void family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The next device that answers, after @device or from the first. */
static const struct sample_device *next_good(const struct sample *sample,
					     const struct sample_device *device)
{
	const struct sample_device *end = sample->devices + sample->num_devices;

	for (device = device ? device + 1 : sample->devices; device < end; device++)
		if (!device->error[0])
			return device;
	return NULL;
}

#define for_each_good(sample, device) \
	for ((device) = next_good(sample, NULL); (device); (device) = next_good(sample, device))

/* name{neuron_device="N",and so on} with a blank for the value that follows */
__attribute__((format(printf, 4, 5)))
static void series(FILE *out, const char *name, const struct sample_device *device,
		   const char *labels, ...)
{
	va_list args;

	fprintf(out, "%s{neuron_device=\"%u\"", name, device->entry.index);
	va_start(args, labels);
	vfprintf(out, labels, args);
	va_end(args);
	fputs("} ", out);
}

/* Text of a label: quotes and backslashes need one in front. @out has room for all. */
static void quote(const char *text, char *out, size_t size)
{
	char *end = out + size - 2;

	for (; *text && out < end; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		*out++ = *text;
	}
	*out = '\0';
}

static void put_identity(FILE *out, const struct sample *sample)
{
	const struct sample_device *device;

	family(out, "neuron_device_up", "gauge", "1 if the device answers.");
	for (device = sample->devices; device < sample->devices + sample->num_devices; device++) {
		series(out, "neuron_device_up", device, ",bdf=\"%s\"",
		       device->entry.pci_address);
		fprintf(out, "%d\n", !device->error[0]);
	}
	family(out, "neuron_device_info", "gauge", "Always 1; labels say what the device is.");
	for_each_good(sample, device) {
		series(out, "neuron_device_info", device,
		       ",bdf=\"%s\",name=\"%s\",serial=\"%016" PRIx64
		       "\",driver_version=\"%u.%u.%u\"",
		       device->entry.pci_address, device->info.name, device->info.serial,
		       device->info.driver_version[0], device->info.driver_version[1],
		       device->info.driver_version[2]);
		fputs("1\n", out);
	}
}

/* A family with one value for each device. */
static void put_uints(FILE *out, const struct sample *sample, const char *name, const char *type,
		      const char *help, uint64_t (*value)(const struct sample_device *device))
{
	const struct sample_device *device;

	family(out, name, type, help);
	for_each_good(sample, device) {
		series(out, name, device, "%s", "");
		fprintf(out, "%" PRIu64 "\n", value(device));
	}
}

static uint64_t memory_size(const struct sample_device *device)
{
	return device->memory.total;
}

static uint64_t resets(const struct sample_device *device)
{
	return device->info.reset_count;
}

static uint64_t healthy(const struct sample_device *device)
{
	return !device->telemetry.health;
}

static uint64_t dma_bytes(const struct sample_device *device)
{
	uint64_t sum = 0;
	unsigned int e;

	for (e = 0; e < device->info.num_engines; e++)
		sum += device->engines[e].info.bytes;
	return sum;
}

static uint64_t refused(const struct sample_device *device)
{
	return device->fabric.errors;
}

static uint64_t partition(const struct sample_device *device)
{
	return device->fabric.partition;
}

/* The same with a fraction. */
static void put_doubles(FILE *out, const struct sample *sample, const char *name,
			const char *type, const char *help,
			bool (*value)(const struct sample_device *device, double *value))
{
	const struct sample_device *device;
	double number;

	family(out, name, type, help);
	for_each_good(sample, device) {
		if (!value(device, &number))
			continue;
		series(out, name, device, "%s", "");
		fprintf(out, "%.6f\n", number);
	}
}

static bool dma_busy(const struct sample_device *device, double *value)
{
	uint64_t ns = 0;
	unsigned int e;

	for (e = 0; e < device->info.num_engines; e++)
		ns += device->engines[e].info.busy_ns;
	*value = (double)ns / 1e9;
	return true;
}

static bool power(const struct sample_device *device, double *value)
{
	*value = (double)device->telemetry.power_uw / 1e6;
	return device->telemetry.sensors;
}

static bool energy(const struct sample_device *device, double *value)
{
	*value = (double)device->telemetry.energy_uj / 1e6;
	return device->telemetry.sensors;
}

static bool throttle(const struct sample_device *device, double *value)
{
	*value = (double)device->telemetry.throttle / 1e4;
	return device->telemetry.sensors;
}

static void put_cores(FILE *out, const struct sample *sample)
{
	const struct sample_device *device;
	unsigned int i;

	family(out, "neuron_core_tensor_utilization_ratio", "gauge",
	       "Share of cycles in which the tensor engine did not idle, 0 to 1.");
	for_each_good(sample, device) {
		for (i = 0; i < device->info.num_cores && i < SAMPLE_MAX_CORES; i++) {
			series(out, "neuron_core_tensor_utilization_ratio", device,
			       ",core=\"%u\"", i);
			fprintf(out, "%.4f\n", device->cores[i].tensor / 100);
		}
	}
	family(out, "neuron_core_dma_utilization_ratio", "gauge",
	       "Share of time in which the DMA engines of the core had work, 0 to 1.");
	for_each_good(sample, device) {
		for (i = 0; i < device->info.num_cores && i < SAMPLE_MAX_CORES; i++) {
			series(out, "neuron_core_dma_utilization_ratio", device,
			       ",core=\"%u\"", i);
			fprintf(out, "%.4f\n", device->cores[i].dma.percent / 100);
		}
	}
}

static void put_temperatures(FILE *out, const struct sample *sample)
{
	const struct sample_device *device;
	const struct neuron_telemetry *t;
	uint32_t i, most = NEURON_MAX_DIES + NEURON_MAX_STACKS;
	bool die;

	family(out, "neuron_temperature_celsius", "gauge", "Temperature of a die or HBM stack.");
	for_each_good(sample, device) {
		t = &device->telemetry;
		for (i = 0; t->sensors && i < t->num_dies + t->num_stacks && i < most; i++) {
			die = i < t->num_dies;
			series(out, "neuron_temperature_celsius", device, ",sensor=\"%s%u\"",
			       die ? "die" : "hbm", die ? i : i - t->num_dies);
			fprintf(out, "%.3f\n", t->temperature[i] / 1e3);
		}
	}
}

static void put_ecc_of(FILE *out, const struct sample_device *device, const char *memory,
		       uint32_t corrected, uint32_t uncorrected)
{
	series(out, "neuron_ecc_errors_total", device, ",memory=\"%s\",kind=\"corrected\"",
	       memory);
	fprintf(out, "%u\n", corrected);
	series(out, "neuron_ecc_errors_total", device, ",memory=\"%s\",kind=\"uncorrected\"",
	       memory);
	fprintf(out, "%u\n", uncorrected);
}

static void put_ecc(FILE *out, const struct sample *sample)
{
	const struct sample_device *device;
	const struct neuron_telemetry *t;
	char name[16];
	unsigned int i;

	family(out, "neuron_ecc_errors_total", "counter", "Memory errors.");
	for_each_good(sample, device) {
		t = &device->telemetry;
		for (i = 0; i < device->info.num_stacks && i < NEURON_MAX_STACKS; i++) {
			snprintf(name, sizeof(name), "hbm%u", i);
			put_ecc_of(out, device, name, t->hbm_ecc_corrected[i],
				   t->hbm_ecc_uncorrected[i]);
		}
		put_ecc_of(out, device, "sram", t->sram_ecc_corrected, t->sram_ecc_uncorrected);
	}
}

static void put_ports(FILE *out, const struct sample *sample)
{
	static const struct {
		const char *name, *help;
		unsigned int counter;
	} counters[] = {
		{ "neuron_port_transmit_bytes_total", "Payload sent.", NEURON_PORT_TX_BYTES },
		{ "neuron_port_receive_bytes_total", "Payload received.", NEURON_PORT_RX_BYTES },
		{ "neuron_port_transmit_packets_total", "Packets sent.", NEURON_PORT_TX_PACKETS },
		{ "neuron_port_receive_packets_total", "Packets received.",
		  NEURON_PORT_RX_PACKETS },
		{ "neuron_port_crc_errors_total", "Checksum errors.", NEURON_PORT_CRC_ERRORS },
		{ "neuron_port_replays_total", "Packets sent again.", NEURON_PORT_REPLAYS },
		{ "neuron_port_recoveries_total", "Trainings of a link that was up.",
		  NEURON_PORT_RECOVERIES },
		{ "neuron_port_link_downs_total", "Times that the link went down.",
		  NEURON_PORT_LINK_DOWNS },
		{ "neuron_port_discards_total", "Packets with no way on.", NEURON_PORT_DISCARDS },
		{ "neuron_port_blocked_total", "Packets for another partition.",
		  NEURON_PORT_BLOCKED },
	};
	const struct sample_device *device;
	const uint64_t *c;
	unsigned int i, p;

	family(out, "neuron_port_up", "gauge", "1 if the port carries traffic.");
	for_each_good(sample, device) {
		for (p = 0; p < device->fabric.num_ports; p++) {
			series(out, "neuron_port_up", device, ",port=\"%u\"", p);
			fprintf(out, "%d\n", (int)(device->fabric.ports_up >> p & 1));
		}
	}
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		family(out, counters[i].name, "counter", counters[i].help);
		for_each_good(sample, device) {
			for (p = 0; p < device->fabric.num_ports; p++) {
				c = device->ports[p].info.counters;
				series(out, counters[i].name, device, ",port=\"%u\"", p);
				fprintf(out, "%" PRIu64 "\n", c[counters[i].counter]);
			}
		}
	}
}

static void put_processes(FILE *out, const struct sample *sample)
{
	char command[2 * NEURON_NAME_SIZE];
	const struct sample_device *device;
	unsigned int h;

	family(out, "neuron_process_memory_bytes", "gauge", "HBM that a process holds.");
	for_each_good(sample, device) {
		for (h = 0; h < device->num_holders; h++) {
			if (!device->holders[h].pid)
				continue;
			quote(device->holders[h].command, command, sizeof(command));
			series(out, "neuron_process_memory_bytes", device,
			       ",pid=\"%d\",command=\"%s\"", device->holders[h].pid, command);
			fprintf(out, "%" PRIu64 "\n", device->holders[h].hbm_bytes);
		}
	}
}

char *metrics_text(const struct sample *sample, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		tool_die(TOOL_FAILED, "out of memory");
	put_identity(out, sample);
	put_uints(out, sample, "neuron_memory_size_bytes", "gauge", "HBM.", memory_size);
	put_uints(out, sample, "neuron_memory_used_bytes", "gauge", "HBM in use.", sample_used);
	put_uints(out, sample, "neuron_dma_bytes_total", "counter", "Bytes that DMA has moved.",
		  dma_bytes);
	put_doubles(out, sample, "neuron_dma_busy_seconds_total", "counter",
		    "Time with work, sum over the DMA engines.", dma_busy);
	put_cores(out, sample);
	put_doubles(out, sample, "neuron_power_watts", "gauge", "Power of the device.", power);
	put_doubles(out, sample, "neuron_energy_joules_total", "counter",
		    "Energy since power-on.", energy);
	put_doubles(out, sample, "neuron_throttle_ratio", "gauge",
		    "How far the clock is throttled, 0 to 1.", throttle);
	put_temperatures(out, sample);
	put_ecc(out, sample);
	put_uints(out, sample, "neuron_healthy", "gauge", "1 if the firmware reports no fault.",
		  healthy);
	put_uints(out, sample, "neuron_resets_total", "counter", "Device resets.", resets);
	put_uints(out, sample, "neuron_fabric_partition", "gauge",
		  "Partition of the chip; 65535: it may talk to nobody.", partition);
	put_uints(out, sample, "neuron_fabric_refused_total", "counter",
		  "Accesses that the fabric refused.", refused);
	put_ports(out, sample);
	put_processes(out, sample);
	if (fclose(out))
		tool_die(TOOL_FAILED, "out of memory");
	return text;
}
