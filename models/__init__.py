"""Chat models behind one factory, and what surrounds a question: journal, budget, parsing."""
