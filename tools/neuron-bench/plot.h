/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth against size as an SVG picture, both axes logarithmic.
 */
#ifndef PLOT_H
#define PLOT_H

struct plot;

struct plot *plot_new(const char *title);
/*
 * A point of curve @name: bytes; 10^9 bytes a second, and their spread. It is left
 * out if these are not in order, or not above 0.
 */
void plot_add(struct plot *plot, const char *name, double size, double rate, double low,
	      double high);
/* Ends the program when it cannot, or when there is no point. */
void plot_write(const struct plot *plot, const char *path);
void plot_free(struct plot *plot);

#endif
