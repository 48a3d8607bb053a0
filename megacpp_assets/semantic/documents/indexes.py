"""What is known of a repository when its documents are composed. No budget changes it, so all budgets share it."""

from __future__ import annotations

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context.context import Surroundings
from megacpp_assets.semantic.documents.context.growth import Reach
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.documents.text.heads import Heads
from megacpp_assets.semantic.documents.text.layout import Layout
from megacpp_assets.semantic.documents.text.standard import StandardHeaders
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore


class Indexes:
    """The items of a repository, what they mention, their context, and how they are laid out."""

    def __init__(self, repository: Repository, chars: CharStore, recipe: SemanticRecipe) -> None:
        self.repository = repository
        self.items = Items(repository)
        self.mentions = Mentions(repository, chars)
        self.standard = StandardHeaders(repository, chars)
        members = Members(repository, self.items, self.mentions)
        self.heads = Heads(repository, self.items)
        stand_ins = StandIns(repository, self.items)
        self.layout = Layout(repository, self.items, members, stand_ins)
        reach = Reach(recipe.dependency_depth, recipe.body_depth, recipe.callers)
        self.surroundings = Surroundings(
            repository, self.items, members, self.mentions, stand_ins=stand_ins, reach=reach
        )
