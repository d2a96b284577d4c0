// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plot.h"
#include "report.h"
#include "tool.h"

void spread_of(struct spread *spread, int64_t *ns, unsigned int count)
{
	unsigned int tenth = (count - 1) / 10;

	spread->median = (double)tool_median(ns, count);
	spread->low = (double)ns[tenth];
	spread->high = (double)ns[count - 1 - tenth];
	spread->samples = count;
}

void spread_invert(struct spread *spread, double amount)
{
	double low = spread->low;

	/* A clock may stand still over something short. */
	spread->median = amount / (spread->median > 0 ? spread->median : 1);
	spread->low = amount / (spread->high > 0 ? spread->high : 1);
	spread->high = amount / (low > 0 ? low : 1);
}

void spread_scale(struct spread *spread, double factor)
{
	spread->median *= factor;
	spread->low *= factor;
	spread->high *= factor;
}

bool report_option(struct report *report, int c)
{
	switch (c) {
	case 'j':
		report->format = REPORT_JSON;
		return true;
	case REPORT_OPT_CSV:
		report->format = REPORT_CSV;
		return true;
	case REPORT_OPT_PLOT:
		report->plot = optarg;
		return true;
	default:
		return false;
	}
}

void report_number(struct json_object *row, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.7g", value);
	json_object_object_add(row, key, json_object_new_double_s(value, text));
}

static void print_heading(const struct report *report)
{
	const struct report_column *column;

	for (column = report->columns; column->key; column++)
		if (report->format == REPORT_CSV)
			printf("%s%s", column == report->columns ? "" : ",", column->key);
		else
			printf("%s%*s", column == report->columns ? "" : " ", column->width,
			       column->heading);
	putchar('\n');
}

/* Names are words: nothing in them needs quotes. */
static void print_csv(const struct report *report, struct json_object *row)
{
	const struct report_column *column;
	struct json_object *value;

	for (column = report->columns; column->key; column++) {
		if (column != report->columns)
			putchar(',');
		if (json_object_object_get_ex(row, column->key, &value))
			fputs(json_object_get_string(value), stdout);
	}
	putchar('\n');
}

static void print_cell(const struct report_column *column, struct json_object *value)
{
	if (!value)
		printf("%*s", column->width, "-");
	else if (json_object_is_type(value, json_type_string))
		printf("%*s", column->width, json_object_get_string(value));
	else if (column->decimals < 0)
		printf("%*.7g", column->width, json_object_get_double(value));
	else
		printf("%*.*f", column->width, column->decimals, json_object_get_double(value));
}

static void print_line(const struct report *report, struct json_object *row)
{
	const struct report_column *column;
	struct json_object *value;

	for (column = report->columns; column->key; column++) {
		if (column != report->columns)
			putchar(' ');
		value = NULL;
		json_object_object_get_ex(row, column->key, &value);
		print_cell(column, value);
	}
	putchar('\n');
}

void report_row(struct report *report, struct json_object *row)
{
	tool_progress_clear();
	if (!report->rows) {
		report->rows = json_object_new_array();
		if (report->format != REPORT_JSON)
			print_heading(report);
	}
	if (report->format == REPORT_JSON)
		json_print_line(json_object_get(row));
	else if (report->format == REPORT_CSV)
		print_csv(report, row);
	else
		print_line(report, row);
	fflush(stdout);
	json_object_array_add(report->rows, row);
}

static double number(struct json_object *row, const char *key)
{
	return json_object_get_double(json_object_object_get(row, key));
}

static void plot_rows(const struct report *report)
{
	size_t i, count = report->rows ? json_object_array_length(report->rows) : 0;
	struct plot *plot = plot_new(report->title);
	struct json_object *row;
	double rate, time;

	for (i = 0; i < count; i++) {
		row = json_object_array_get_idx(report->rows, i);
		rate = number(row, report->rate);
		time = number(row, "time_us");
		plot_add(plot, json_object_get_string(json_object_object_get(row, report->series)),
			 number(row, "size"), rate, rate * time / number(row, "time_us_high"),
			 rate * time / number(row, "time_us_low"));
	}
	plot_write(plot, report->plot);
	plot_free(plot);
}

void report_end(struct report *report)
{
	if (report->plot)
		plot_rows(report);
	json_object_put(report->rows);
	report->rows = NULL;
}
