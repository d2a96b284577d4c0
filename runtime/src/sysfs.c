// SPDX-License-Identifier: MIT
/*
 * Finding devices in sysfs. libdrm looks for DRM nodes only and does not see
 * those of class accel.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Number behind "accel", or false when there is anything else. */
static bool parse_accel(const char *name, uint32_t *accel)
{
	unsigned long n;
	char *end;

	if (strncmp(name, "accel", 5) || !isdigit((unsigned char)name[5]))
		return false;
	errno = 0;
	n = strtoul(name + 5, &end, 10);
	if (errno || *end || n > UINT32_MAX)
		return false;
	*accel = (uint32_t)n;
	return true;
}

/* Last component of what the link @path/@name points to. */
static bool link_target(const char *path, const char *name, char *out, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX];
	const char *base;
	ssize_t n;

	if (snprintf(link, sizeof(link), "%s/%s", path, name) >= (int)sizeof(link))
		return false;
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	return snprintf(out, size, "%s", base) < (int)size;
}

static int32_t read_int(const char *path, const char *name, int32_t fallback)
{
	char file[PATH_MAX];
	int32_t value = fallback;
	FILE *f;

	if (snprintf(file, sizeof(file), "%s/%s", path, name) >= (int)sizeof(file))
		return fallback;
	f = fopen(file, "re");
	if (!f)
		return fallback;
	if (fscanf(f, "%d", &value) != 1)
		value = fallback;
	fclose(f);
	return value;
}

static int compare_accel(const void *a, const void *b)
{
	const struct nrn_found *x = a, *y = b;

	return x->accel < y->accel ? -1 : x->accel > y->accel;
}

/* False if class device @name is none of ours. */
static bool look_at(const char *class_dir, const char *name, struct nrn_found *found)
{
	char dir[PATH_MAX - 64], device[PATH_MAX - 32], driver[NEURON_NAME_SIZE];
	struct stat st;

	memset(found, 0, sizeof(*found));
	if (!parse_accel(name, &found->accel))
		return false;
	if (snprintf(dir, sizeof(dir), "%s/%s", class_dir, name) >= (int)sizeof(dir))
		return false;
	snprintf(device, sizeof(device), "%s/device", dir);
	if (!link_target(device, "driver", driver, sizeof(driver)) || strcmp(driver, DRIVER_NAME))
		return false;
	if (!link_target(dir, "device", found->pci_address, sizeof(found->pci_address)))
		return false;
	found->numa_node = read_int(device, "numa_node", -1);
	if (snprintf(found->node, sizeof(found->node), "%s/%s", nrn_backend->dev_dir, name) >=
	    (int)sizeof(found->node))
		return false;
	found->has_node = stat(found->node, &st) == 0;
	return true;
}

int nrn_find_devices(struct nrn_found **devices)
{
	struct nrn_found *list = NULL, *grown, found;
	char class_dir[PATH_MAX - 256];
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	DIR *dir;

	*devices = NULL;
	snprintf(class_dir, sizeof(class_dir), "%s/class/accel", nrn_backend->sys_dir);
	dir = opendir(class_dir);
	if (!dir)
		return errno == ENOMEM ? -ENOMEM : 0;
	while ((entry = readdir(dir))) {
		if (!look_at(class_dir, entry->d_name, &found))
			continue;
		if (count == capacity) {
			capacity = capacity ? 2 * capacity : 16;
			grown = realloc(list, capacity * sizeof(*list));
			if (!grown) {
				free(list);
				closedir(dir);
				return -ENOMEM;
			}
			list = grown;
		}
		list[count++] = found;
	}
	closedir(dir);
	if (count)
		qsort(list, count, sizeof(*list), compare_accel);
	*devices = list;
	return (int)count;
}

bool nrn_module_loaded(void)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/module/%s", nrn_backend->sys_dir, DRIVER_NAME);
	return stat(path, &st) == 0;
}
