/* SPDX-License-Identifier: MIT */
/*
 * Version of libneuron.
 */
#ifndef NEURON_VERSION_H
#define NEURON_VERSION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the shared library exports. */
#define NEURON_API __attribute__((visibility("default")))

/** Version of these headers. */
#define NEURON_VERSION_MAJOR 0
#define NEURON_VERSION_MINOR 1
#define NEURON_VERSION_PATCH 0

/** One number to compare versions with. */
#define NEURON_VERSION_ENCODE(major, minor, patch) \
	(((uint32_t)(major) << 16) | ((uint32_t)(minor) << 8) | (uint32_t)(patch))

/** The version of these headers as such a number. */
#define NEURON_VERSION \
	NEURON_VERSION_ENCODE(NEURON_VERSION_MAJOR, NEURON_VERSION_MINOR, NEURON_VERSION_PATCH)

/**
 * neuron_version() - version of the library that runs
 *
 * Return: a number made by NEURON_VERSION_ENCODE().
 */
NEURON_API uint32_t neuron_version(void);

/**
 * neuron_version_string() - version of the library that runs, as text
 *
 * Return: for example "0.1.0"; never NULL, not to be freed.
 */
NEURON_API const char *neuron_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
