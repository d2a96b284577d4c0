/* SPDX-License-Identifier: MIT */
/*
 * What the parts of neuron-ls share.
 */
#ifndef LS_H
#define LS_H

#include <stdbool.h>

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
	struct neuron_device *handle;
	struct neuron_device_info info;
	struct neuron_memory_info memory;
	struct neuron_fabric_info fabric;
	/** @affinity: CPUs that are near, for example "0-3,8"; "" if unknown */
	char affinity[64];
	/** @first_core: its cores are numbered from here on, over all devices */
	unsigned int first_core;
	/** @processes: that hold it, as far as the caller may see them */
	struct process *processes;
	unsigned int num_processes;
	/** @paths: to each other device; status NEURON_PATH_NO_CHIP without a fabric */
	struct neuron_path_info *paths;
	/** @connected: devices that it reaches by a link of its own, or by switches */
	unsigned int *connected;
	unsigned int num_connected;
	/** @error: why there is nothing but @entry; empty if there is */
	char error[320];
};

/* All devices, or a message and the end. */
struct device *devices_find(unsigned int *count);
void devices_free(struct device *devices, unsigned int count);
/* Do both have a fabric, and the same? */
bool same_fabric(const struct device *a, const struct device *b);
bool path_is_good(const struct neuron_path_info *path);

/* Draws how the devices are joined. */
void topology_print(const struct device *devices, unsigned int count);

#endif
