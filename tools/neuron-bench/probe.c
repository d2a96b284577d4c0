// SPDX-License-Identifier: MIT
/*
 * From insmod to all devices usable: each has done a copy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "tool.h"

#define LIMIT_NS 60000000000ll
#define POLL_US 2000

/* Value of a sysfs attribute in hexadecimal, 0 if there is none. */
static unsigned int read_hex(const char *device, const char *attribute)
{
	char path[PATH_MAX];
	unsigned int value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", device, attribute);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%x", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

/* Trainium chips on the PCI bus, driven or not. */
static int count_chips(void)
{
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	dir = opendir("/sys/bus/pci/devices");
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && read_hex(entry->d_name, "vendor") == 0x1d0f &&
		    read_hex(entry->d_name, "class") >> 16 == 0x12)
			count++;
	closedir(dir);
	return count;
}

/**
 * struct image - the module, read before the clock runs
 */
struct image {
	void *data;
	size_t size;
};

static void read_module(const char *path, struct image *image)
{
	struct stat st;
	FILE *f;

	f = fopen(path, "re");
	if (!f || fstat(fileno(f), &st))
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	image->size = (size_t)st.st_size;
	image->data = malloc(image->size + 1);
	if (!image->data)
		tool_die(TOOL_FAILED, "out of memory");
	if (fread(image->data, 1, image->size, f) != image->size)
		tool_die(TOOL_FAILED, "%s: cannot be read", path);
	((char *)image->data)[image->size] = '\0';
	fclose(f);
}

/* Loads the modules that this one names in its modinfo, in the order it names them. */
static void load_dependencies(const struct image *image)
{
	static const char key[] = "\0depends=";
	char *names, *name, *argv[] = { (char *)"modprobe", NULL, NULL }, *save;
	int status;
	pid_t pid;

	names = memmem(image->data, image->size, key, sizeof(key) - 1);
	if (!names)
		return;
	names = strdup(names + sizeof(key) - 1);
	if (!names)
		tool_die(TOOL_FAILED, "out of memory");
	for (name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		argv[1] = name;
		if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			tool_die(TOOL_FAILED, "modprobe %s failed", name);
	}
	free(names);
}

static bool usable(uint32_t index)
{
	struct neuron_device *device;
	struct neuron_buffer *buffer;
	bool ok = false;

	if (neuron_device_open(index, &device))
		return false;
	if (!neuron_buffer_create(device, NEURON_HBM, 4096, NULL, &buffer)) {
		ok = !neuron_buffer_write(buffer, 0, "probe", 6);
		neuron_buffer_destroy(buffer);
	}
	neuron_device_close(device);
	return ok;
}

void bench_probe(struct bench *bench, const struct row *row, struct result *result)
{
	int chips = count_chips(), want, ready = 0;
	struct image image;
	int64_t start;

	if (sscanf(row->name, "probe.%dchip", &want) != 1 || want != chips)
		tool_die(TOOL_FAILED, "%s: this machine has %d", row->name, chips);
	if (!bench->module)
		tool_die(TOOL_FAILED, "%s: needs --module FILE", row->name);
	if (syscall(SYS_delete_module, "trainium", O_NONBLOCK) && errno != ENOENT)
		tool_die(TOOL_FAILED, "the module cannot be unloaded: %s", strerror(errno));

	read_module(bench->module, &image);
	load_dependencies(&image);

	start = tool_now();
	if (syscall(SYS_init_module, image.data, image.size,
		    bench->module_args ? bench->module_args : ""))
		tool_die(TOOL_FAILED, "%s cannot be loaded: %s", bench->module, strerror(errno));
	while (ready < chips) {
		if (neuron_enumerate(NULL, 0, 0) > ready && usable((uint32_t)ready)) {
			ready++;
			continue;
		}
		if (tool_now() - start > LIMIT_NS)
			tool_die(TOOL_FAILED, "%d of %d chips are usable after %lld s: %s", ready,
				 chips, LIMIT_NS / 1000000000, neuron_last_error());
		usleep(POLL_US);
	}
	result->value = (double)(tool_now() - start) / 1e9;
	free(image.data);
}
