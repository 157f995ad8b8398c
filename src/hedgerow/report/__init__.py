"""The report: one self-contained HTML file about a fitted model, and the layout of its page."""

from hedgerow.report.data import ReportData
from hedgerow.report.page import Section, figure, render_page
from hedgerow.report.report import Report

__all__ = ["Report", "ReportData", "Section", "figure", "render_page"]
