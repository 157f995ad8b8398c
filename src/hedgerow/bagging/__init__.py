"""Bagging: members that each learn from a sample of their own, and a vote.

rows        X as the user gave it, parts of it, and an order of rows that follows from what they hold
resampling  which rows and columns a member gets: pure functions of the seed and the member's number
loop        fitting the members, in parallel, in the loop that boosting uses too
votes       what members say, summed in their order; the same for rows out of the bag
"""
