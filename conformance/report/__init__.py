"""What a run leaves behind: the ConformanceReport, the terminal's table, Allure, JUnit."""
