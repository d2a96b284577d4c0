/* SPDX-License-Identifier: MIT */
/*
 * All that the devices tell, looked at again and again: what neuron-top and
 * neuron-monitor show. Rates are those between the last two looks.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>

#include "tool.h"

#define SAMPLE_MAX_CORES 32

/**
 * struct sample_load - how busy something was between two looks
 */
struct sample_load {
	/** @percent: of the time */
	double percent;
	/** @rate: bytes a second */
	double rate;
};

/**
 * struct sample_core - a NeuronCore
 */
struct sample_core {
	/** @tensor: percent of the cycles in which the tensor engine did not idle */
	double tensor;
	/** @dma: its DMA engines */
	struct sample_load dma;
	struct neuron_core_info info;
};

struct sample_engine {
	struct neuron_engine_info info;
	struct sample_load load;
};

struct sample_port {
	struct neuron_port_info info;
	/** @tx_rate: bytes a second */
	double tx_rate;
	double rx_rate;
};

/**
 * struct sample_device - a device as the last look has found it
 */
struct sample_device {
	struct neuron_device_entry entry;
	struct neuron_device *handle;
	/** @error: why what follows is old or empty; "" if it is not */
	char error[320];
	struct neuron_device_info info;
	struct neuron_memory_info memory;
	struct neuron_telemetry telemetry;
	struct neuron_fabric_info fabric;
	/** @dma: all engines */
	struct sample_load dma;
	/** @tensor: percent, mean of the cores */
	double tensor;
	/** @free_rings, @rings: hardware rings not in use, and all */
	unsigned int free_rings, rings;
	struct sample_core cores[SAMPLE_MAX_CORES];
	struct sample_engine *engines;
	struct sample_port *ports;
	/** @holders: processes with memory or queues; those that are not seen by file */
	struct neuron_holder *holders;
	unsigned int num_holders, room_holders;
	/** @seen: number of looks that have worked */
	unsigned int seen;
	int64_t when;
};

struct sample {
	struct sample_device *devices;
	unsigned int num_devices;
};

/* Opens all devices; a message and the end when there is none, or no way in. */
struct sample *sample_open(void);
/* Looks again. Devices that fail keep an error; the others go on. */
void sample_take(struct sample *sample);
void sample_close(struct sample *sample);

/* Bytes of HBM in use. */
uint64_t sample_used(const struct sample_device *device);
/* Hottest die or stack, thousandths of a degree; false without sensors. */
bool sample_temperature(const struct sample_device *device, int32_t *temperature);

#endif
