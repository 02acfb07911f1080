"""How an answer is planned: states, decision tables, and what moves the plan."""
