// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "tool.h"

#define WIDTH 860
#define HEIGHT 520
#define LEFT 80
#define RIGHT 190
#define TOP 60
#define BOTTOM 70
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT (HEIGHT - TOP - BOTTOM)
#define LEGEND_STEP 24
#define ROUNDING 0.000001

struct point {
	double size, rate, low, high;
};

struct curve {
	char *name;
	struct point *points;
	size_t count;
};

struct plot {
	char *title;
	struct curve *curves;
	size_t count;
};

/* Powers of two in x, decades in y: logarithms of what the edges are */
struct axes {
	double x0, x1, y0, y1;
};

/* Colours that can be told apart with colour blindness (Okabe and Ito), and dashes. */
static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00",
				      "#56b4e9", "#000000" };
static const char *const dashes[] = { "none", "7 3", "2 3", "9 3 2 3", "none", "4 2", "1 2" };

#define STYLES (sizeof(colors) / sizeof(colors[0]))

static void *grow(void *array, size_t count, size_t size)
{
	array = realloc(array, (count + 1) * size);
	if (!array)
		tool_die(TOOL_FAILED, "out of memory");
	return array;
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		tool_die(TOOL_FAILED, "out of memory");
	return copy;
}

struct plot *plot_new(const char *title)
{
	struct plot *plot = calloc(1, sizeof(*plot));

	if (!plot)
		tool_die(TOOL_FAILED, "out of memory");
	plot->title = copy_text(title);
	return plot;
}

static struct curve *find_curve(struct plot *plot, const char *name)
{
	struct curve *curve;
	size_t i;

	for (i = 0; i < plot->count; i++)
		if (!strcmp(plot->curves[i].name, name))
			return &plot->curves[i];
	plot->curves = grow(plot->curves, plot->count, sizeof(*plot->curves));
	curve = &plot->curves[plot->count++];
	*curve = (struct curve){ .name = copy_text(name) };
	return curve;
}

void plot_add(struct plot *plot, const char *name, double size, double rate, double low,
	      double high)
{
	struct curve *curve;

	if (!(size > 0) || !(low > 0) || !(rate >= low) || !(high >= rate))
		return;
	curve = find_curve(plot, name);
	curve->points = grow(curve->points, curve->count, sizeof(*curve->points));
	curve->points[curve->count++] = (struct point){ size, rate, low, high };
}

/* The largest of 1, 2, 5, 10, ... that is not above @value; its logarithm */
static double step_below(double value)
{
	double decade = floor(log10(value)), rest = value / pow(10, decade);

	return decade + log10(rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
}

static double step_above(double value)
{
	double decade = floor(log10(value)), rest = value / pow(10, decade);

	return decade + log10(rest > 5 ? 10 : rest > 2 ? 5 : rest > 1 ? 2 : 1);
}

static struct axes axes_of(const struct plot *plot)
{
	double low = INFINITY, high = 0, from = INFINITY, to = 0;
	struct axes axes;
	size_t c, i;

	for (c = 0; c < plot->count; c++)
		for (i = 0; i < plot->curves[c].count; i++) {
			from = fmin(from, plot->curves[c].points[i].size);
			to = fmax(to, plot->curves[c].points[i].size);
			low = fmin(low, plot->curves[c].points[i].low);
			high = fmax(high, plot->curves[c].points[i].high);
		}
	axes = (struct axes){ floor(log2(from)), ceil(log2(to)), step_below(low),
			      step_above(high) };
	if (axes.x1 - axes.x0 < 1)
		axes.x1 = axes.x0 + 1;
	if (axes.y1 - axes.y0 < 0.1)
		axes.y1 = step_above(pow(10, axes.y1) * 1.01);
	return axes;
}

static double x_of(const struct axes *axes, double size)
{
	return LEFT + (log2(size) - axes->x0) / (axes->x1 - axes->x0) * PLOT_WIDTH;
}

static double y_of(const struct axes *axes, double rate)
{
	return TOP + PLOT_HEIGHT - (log10(rate) - axes->y0) / (axes->y1 - axes->y0) * PLOT_HEIGHT;
}

static void put_text(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			fputc(*text, f);
		}
}

static void grid_line(FILE *f, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class,
		x1, y1, x2, y2);
}

/* "64 KiB" every few powers of two, so that the labels do not meet */
static void put_x_axis(FILE *f, const struct axes *axes)
{
	int step = (int)ceil((axes->x1 - axes->x0) / 9), i;
	double x;

	for (i = (int)axes->x0; i <= (int)axes->x1; i++) {
		x = x_of(axes, ldexp(1, i));
		if ((i - (int)axes->x0) % step) {
			grid_line(f, "minor", x, TOP, x, TOP + PLOT_HEIGHT);
			continue;
		}
		grid_line(f, "grid", x, TOP, x, TOP + PLOT_HEIGHT);
		fprintf(f, "<text class=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>\n", x,
			TOP + PLOT_HEIGHT + 20, tool_bytes(1ull << i).text);
	}
	fprintf(f, "<text class=\"middle name\" x=\"%d\" y=\"%d\">size</text>\n",
		LEFT + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 48);
}

static void put_y_axis(FILE *f, const struct axes *axes)
{
	/* As many labels as there is room for: all, those of 1, 2 and 5, or the decades' */
	double span = axes->y1 - axes->y0, y, value;
	bool label;
	int decade, m;

	for (decade = (int)floor(axes->y0); decade <= (int)ceil(axes->y1); decade++)
		for (m = 1; m < 10; m++) {
			value = m * pow(10, decade);
			if (log10(value) < axes->y0 - ROUNDING ||
			    log10(value) > axes->y1 + ROUNDING)
				continue;
			y = y_of(axes, value);
			label = m == 1 || span < 0.9 || (span < 3.1 && (m == 2 || m == 5));
			grid_line(f, label ? "grid" : "minor", LEFT, y, LEFT + PLOT_WIDTH, y);
			if (label)
				fprintf(f, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n",
					LEFT - 8, y + 4, value);
		}
	fprintf(f,
		"<text class=\"middle name\" transform=\"translate(24 %d) rotate(-90)\">bandwidth, GB/s</text>\n",
		TOP + PLOT_HEIGHT / 2);
}

/* Each curve has a mark of its own, too. */
static void put_mark(FILE *f, size_t style, double x, double y)
{
	const char *color = colors[style % STYLES];

	switch (style % 3) {
	case 0:
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, color);
		break;
	case 1:
		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" fill=\"%s\"/>\n",
			x - 4, y - 4, color);
		break;
	default:
		fprintf(f, "<path d=\"M%.1f %.1fl5 9h-10z\" fill=\"%s\"/>\n", x, y - 6, color);
	}
}

static void put_curve(FILE *f, const struct axes *axes, const struct curve *curve, size_t style)
{
	const struct point *point = curve->points;
	size_t i;

	fprintf(f, "<polyline stroke=\"%s\" stroke-dasharray=\"%s\" points=\"",
		colors[style % STYLES], dashes[style % STYLES]);
	for (i = 0; i < curve->count; i++)
		fprintf(f, "%s%.1f,%.1f", i ? " " : "", x_of(axes, point[i].size),
			y_of(axes, point[i].rate));
	fputs("\"/>\n", f);
	for (i = 0; i < curve->count; i++)
		fprintf(f,
			"<line class=\"spread\" stroke=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			colors[style % STYLES], x_of(axes, point[i].size), y_of(axes, point[i].low),
			x_of(axes, point[i].size), y_of(axes, point[i].high));
	for (i = 0; i < curve->count; i++)
		put_mark(f, style, x_of(axes, point[i].size), y_of(axes, point[i].rate));
}

static void put_legend(FILE *f, const struct plot *plot)
{
	double x = LEFT + PLOT_WIDTH + 20, y;
	size_t i;

	for (i = 0; i < plot->count; i++) {
		y = TOP + 10 + (double)i * LEGEND_STEP;
		fprintf(f,
			"<polyline stroke=\"%s\" stroke-dasharray=\"%s\" points=\"%.1f,%.1f %.1f,%.1f\"/>\n",
			colors[i % STYLES], dashes[i % STYLES], x, y, x + 36, y);
		put_mark(f, i, x + 18, y);
		fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">", x + 44, y + 4);
		put_text(f, plot->curves[i].name);
		fputs("</text>\n", f);
	}
}

void plot_write(const struct plot *plot, const char *path)
{
	struct axes axes;
	size_t i;
	FILE *f;

	if (!plot->count)
		tool_die(TOOL_FAILED, "%s: nothing that was measured has a size and a bandwidth",
			 path);
	axes = axes_of(plot);
	f = fopen(path, "we");
	if (!f)
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
		"<style>\n"
		"text { font: 13px sans-serif; fill: #222 }\n"
		".title { font-size: 17px; font-weight: bold }\n"
		".name { font-size: 14px }\n"
		".middle { text-anchor: middle }\n"
		".end { text-anchor: end }\n"
		".grid { stroke: #c4c4c4 }\n"
		".minor { stroke: #ebebeb }\n"
		".spread { stroke-width: 5; stroke-opacity: .3 }\n"
		"polyline { fill: none; stroke-width: 2 }\n"
		"</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"34\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	put_text(f, plot->title);
	fputs("</text>\n", f);
	put_x_axis(f, &axes);
	put_y_axis(f, &axes);
	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#444\"/>\n",
		LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT);
	for (i = 0; i < plot->count; i++)
		put_curve(f, &axes, &plot->curves[i], i);
	put_legend(f, plot);
	fputs("</svg>\n", f);
	if (ferror(f) | fclose(f))
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
}

void plot_free(struct plot *plot)
{
	size_t i;

	for (i = 0; i < plot->count; i++) {
		free(plot->curves[i].name);
		free(plot->curves[i].points);
	}
	free(plot->curves);
	free(plot->title);
	free(plot);
}
