// SPDX-License-Identifier: MIT
#include <neuron/version.h>

#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

uint32_t neuron_version(void)
{
	return NEURON_VERSION;
}

const char *neuron_version_string(void)
{
	return VERSION_TEXT(NEURON_VERSION_MAJOR, NEURON_VERSION_MINOR, NEURON_VERSION_PATCH);
}
