// SPDX-License-Identifier: MIT
/*
 * neuron-ls: how the devices are joined. A torus is drawn as the grid that it
 * is, chips behind switches are a matrix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ls.h"
#include "table.h"

#define TORUS 4

static const struct device *at(const struct device *const *grid, unsigned int row,
			       unsigned int column)
{
	return grid[row % TORUS * TORUS + column % TORUS];
}

/* The two sides of a link can differ while it trains: it takes both. */
static bool linked(const struct device *devices, const struct device *a, const struct device *b)
{
	const struct neuron_path_info *there, *back;

	if (!a || !b)
		return false;
	there = &a->paths[b - devices];
	back = &b->paths[a - devices];
	return path_is_good(there) && there->links == 1 && path_is_good(back) && back->links == 1;
}

static char link_char(const struct device *devices, const struct device *a,
		      const struct device *b, char up)
{
	if (!a || !b)
		return ' ';
	return linked(devices, a, b) ? up : 'x';
}

static void print_columns(const struct device *devices, const struct device *const *grid,
			  unsigned int row, bool wrap)
{
	unsigned int column;
	char c;

	for (column = 0; column < TORUS; column++) {
		c = link_char(devices, at(grid, row, column), at(grid, row + 1, column), '|');
		printf("%*c", column ? 9 : 8, wrap && c == '|' ? '*' : c);
	}
	putchar('\n');
}

static void print_row(const struct device *devices, const struct device *const *grid,
		      unsigned int row)
{
	const struct device *a, *last = at(grid, row, TORUS - 1);
	unsigned int column;
	char c;

	c = link_char(devices, last, at(grid, row, 0), '-');
	printf("  %c %c ", c == '-' ? '*' : ' ', c);
	for (column = 0; column < TORUS; column++) {
		a = at(grid, row, column);
		if (a)
			printf("[%3u]", a->entry.index);
		else
			printf("[ . ]");
		if (column == TORUS - 1)
			break;
		c = link_char(devices, a, at(grid, row, column + 1), '-');
		printf(" %c%c ", c, c);
	}
	c = link_char(devices, last, at(grid, row, 0), '-');
	printf(" %c %c\n", c, c == '-' ? '*' : ' ');
}

static void print_torus(const struct device *devices, unsigned int count,
			const struct device *first)
{
	const struct device *grid[TORUS * TORUS] = { NULL };
	unsigned int i, row;

	for (i = 0; i < count; i++)
		if (same_fabric(first, &devices[i]) &&
		    devices[i].fabric.server == first->fabric.server &&
		    devices[i].info.device_index < TORUS * TORUS)
			grid[devices[i].info.device_index] = &devices[i];
	printf("\nServer %u, torus:\n\n", first->fabric.server);
	print_columns(devices, grid, TORUS - 1, true);
	for (row = 0; row < TORUS; row++) {
		print_row(devices, grid, row);
		print_columns(devices, grid, row, row == TORUS - 1);
	}
}

static void path_text(const struct device *a, const struct device *b,
		      const struct neuron_path_info *path, char *text, size_t size)
{
	if (a == b)
		snprintf(text, size, "X");
	else if (!same_fabric(a, b) || path->status == NEURON_PATH_NO_CHIP)
		snprintf(text, size, "SYS");
	else if (path->status == NEURON_PATH_PARTITION)
		snprintf(text, size, "PT");
	else if (!path_is_good(path))
		snprintf(text, size, "DN");
	else if (a->fabric.rack != b->fabric.rack)
		snprintf(text, size, "XR");
	else if (path->links == 1)
		snprintf(text, size, "NL%d", __builtin_popcountll(path->ports));
	else
		snprintf(text, size, "SW%u", path->links - 1);
}

static void print_matrix(const struct device *devices, unsigned int count)
{
	unsigned int i, j;
	char text[16];

	printf("\n%6s", "");
	for (j = 0; j < count; j++)
		printf(" %4u", devices[j].entry.index);
	putchar('\n');
	for (i = 0; i < count; i++) {
		printf("%6u", devices[i].entry.index);
		for (j = 0; j < count; j++) {
			path_text(&devices[i], &devices[j], &devices[i].paths[j], text,
				  sizeof(text));
			printf(" %4s", text);
		}
		putchar('\n');
	}
	printf("\nX itself, NLn joined by n links, SWn by way of n switches, XR in another rack,\n"
	       "DN links are down, PT another partition, SYS by way of the host\n");
}

/* The first of its server, and of a torus? */
static bool begins_torus(const struct device *devices, unsigned int i)
{
	unsigned int j;

	if (devices[i].error[0] || devices[i].fabric.kind != NEURON_FABRIC_NEURONLINK)
		return false;
	for (j = 0; j < i; j++)
		if (same_fabric(&devices[j], &devices[i]) &&
		    devices[j].fabric.server == devices[i].fabric.server)
			return false;
	return true;
}

void topology_print(const struct device *devices, unsigned int count)
{
	unsigned int i, tori = 0;
	bool other = false;

	printf("\nNeuron Device Topology\n");
	for (i = 0; i < count; i++) {
		if (begins_torus(devices, i)) {
			print_torus(devices, count, &devices[i]);
			tori++;
		}
		other |= devices[i].fabric.kind != NEURON_FABRIC_NEURONLINK;
	}
	if (tori)
		printf("\n[n] device, [ . ] not in this machine, - and | links, x links that are down,\n"
		       "* goes on at the other side\n");
	if (tori != 1 || other)
		print_matrix(devices, count);
}
